//! Global memory: regions at large distances, whose bytes are created on first access.
//!
//! The upper bits of an address identify the region, so a pointer that runs past its array still points into the same
//! region. A [`Values`] supplies the initial bytes. It gets region and offset, so two versions of a kernel see the same
//! memory whatever the order of their reads.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use foldhash::fast::FixedState;
use ptx_syntax::Type;

use crate::outcome::Fault;

/// Address bits below the region number.
const REGION_SHIFT: u32 = 36;
/// Offset of a region's start in its 64 GiB, so that negative offsets are possible.
const START: u64 = 1 << (REGION_SHIFT - 1);
/// Value of bytes of local and shared memory that were never written, unless the launch says another.
pub(crate) const UNWRITTEN: u8 = 0xcd;

const PAGE_SHIFT: u32 = 12;
const PAGE: usize = 1 << PAGE_SHIFT;
const TLB: usize = 64;

/// Numbers of the windows of other spaces.
const SHARED: u64 = 1;
const LOCAL: u64 = 2;
const PARAMETERS: u64 = 3;
const CODE: u64 = 4;
/// First number of the regions that parameters point to; other origins follow.
const FIRST_PARAMETER: u64 = 16;
const FIRST_OTHER: u64 = 1 << 16;
/// How many numbers other regions may have.
const OTHERS: u64 = 1 << 22;

/// Start of the generic window of shared memory.
pub(crate) const SHARED_WINDOW: u64 = SHARED << REGION_SHIFT;
/// Start of the generic window of local memory, which is the same for all threads. Addresses of the local state space
/// are the generic ones, so that they can be compared with each other.
pub(crate) const LOCAL_WINDOW: u64 = LOCAL << REGION_SHIFT;
/// Bits of an address of local memory below the number of its object: no thread has more local memory.
pub(crate) const OBJECT_SHIFT: u32 = 24;
/// Limit on the objects of a function that accesses are held against.
pub(crate) const MAX_OBJECTS: usize = 1 << (REGION_SHIFT - OBJECT_SHIFT);
/// Start of the frame of a kernel. An address that runs below its array stays positive.
pub(crate) const FIRST_LOCAL: u64 = 256;
/// The part of an address that names its object.
pub(crate) const fn object_bits(number: u64) -> u64 {
    number << OBJECT_SHIFT
}

/// An address of local memory: its object's number, and its position.
#[inline]
pub(crate) const fn parted(address: u64) -> (usize, u64) {
    if address >= WINDOW_SIZE {
        return (0, address);
    }
    ((address >> OBJECT_SHIFT) as usize, address & (object_bits(1) - 1))
}

/// An address without the number of its object, if it is one of local memory.
#[inline]
pub(crate) const fn unmarked(address: u64) -> u64 {
    match address.wrapping_sub(LOCAL_WINDOW) {
        local @ 0..WINDOW_SIZE => LOCAL_WINDOW | parted(local).1,
        _ => address,
    }
}

/// Start of the window of kernel parameters.
pub(crate) const PARAMETER_WINDOW: u64 = PARAMETERS << REGION_SHIFT;
/// Start of the addresses of functions.
pub(crate) const CODE_WINDOW: u64 = CODE << REGION_SHIFT;
pub(crate) const WINDOW_SIZE: u64 = 1 << REGION_SHIFT;

/// The origin of a region, which identifies it in both versions of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// The pointer with this index among those that the launch passes.
    Parameter(u32),
    /// A module variable.
    Variable(Arc<str>),
    /// The pointer stored at an offset of another region.
    Loaded {
        /// The region that holds the pointer.
        from: RegionId,
        /// Its offset in that region.
        offset: i64,
    },
    /// The result of the n-th call of `malloc`.
    Allocated(u32),
}

/// A region number. It depends only on the origin, so it is the same in all runs, except for hash collisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(u32);

impl RegionId {
    /// Address of offset 0.
    pub fn address(self) -> u64 {
        u64::from(self.0) << REGION_SHIFT | START
    }
}

/// A region of global memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Its number.
    pub id: RegionId,
    /// Its origin.
    pub origin: Origin,
    /// Size, for module variables and allocations; other regions are unbounded.
    pub bytes: Option<u64>,
    /// Its element type, decided on first access.
    pub element: Option<Element>,
}

/// How the destination register of a load is used, as far as the text of the function shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// In floating-point operations of this type.
    Float(Type),
    /// In integer operations.
    Integer,
    /// As the base of an address.
    Pointer,
    /// Only moved.
    Unknown,
}

/// The first access to a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Size of an element: 1, 2, 4 or 8.
    pub bytes: u32,
    /// The type of the instruction, often only `.b32`.
    pub ty: Type,
    /// How the value is used.
    pub class: Class,
}

/// The element type of a region: initial values are created in units of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    /// Size: 1, 2, 4 or 8.
    pub bytes: u32,
    /// How the values are used.
    pub class: Class,
}

/// An initial value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Its bits.
    Bits(u64),
    /// The address of a new region.
    Pointer,
}

/// Supplies the initial contents of memory.
///
/// Results must depend only on the region's origin and the offset, so that all versions of a kernel see the same.
pub trait Values {
    /// The element type of a region. Called once, on first access.
    fn element(&mut self, region: &Region, first: Access) -> Element;

    /// The element at an offset, which is a multiple of its size. `access` is the first access to it: in a region of
    /// structures, elements are used in several ways.
    fn value(&mut self, region: &Region, element: Element, offset: i64, access: Access) -> Value;

    /// Whether a module variable without initializer is zero. A program may write to it before the launch, which PTX
    /// does not show.
    fn is_zero(&mut self, variable: &ptx_syntax::Variable) -> bool {
        variable.space != ptx_syntax::Space::Const
    }
}

/// All memory is zero.
#[derive(Debug, Clone, Copy, Default)]
pub struct Zeros;

impl Values for Zeros {
    fn element(&mut self, _: &Region, first: Access) -> Element {
        Element { bytes: first.bytes, class: first.class }
    }

    fn value(&mut self, _: &Region, _: Element, _: i64, _: Access) -> Value {
        Value::Bits(0)
    }

    fn is_zero(&mut self, _: &ptx_syntax::Variable) -> bool {
        true
    }
}

struct Page {
    data: [u8; PAGE],
    /// Bytes that have a value.
    touched: [u64; PAGE / 64],
    /// Bytes that the kernel wrote.
    written: [u64; PAGE / 64],
    /// By byte: the floating-point type of the value written last, as an index into [`FLOATS`], from 1.
    floats: [u8; PAGE],
    region: RegionId,
    /// First and last address of its region, if the region is bounded.
    bounds: Option<(u64, u64)>,
}

/// A contiguous range of written bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The region that contains them.
    pub origin: Origin,
    /// Offset of the first byte.
    pub offset: i64,
    /// Final contents.
    pub bytes: Vec<u8>,
}

/// Limit on pages, each of which takes more than twice its bytes.
const MAX_PAGES: usize = 1 << 15;

/// The heap of device code, `cudaLimitMallocHeapSize` ("CUDA C++ Programming Guide", "Dynamic Global Memory Allocation").
const HEAP_BYTES: u64 = 8 << 20;

/// Global memory of a launch, with constants and module variables.
pub struct Memory {
    regions: BTreeMap<RegionId, Region>,
    by_origin: HashMap<Origin, RegionId, FixedState>,
    index: HashMap<u64, u32, FixedState>,
    pages: Vec<Box<Page>>,
    tlb: [(u64, u32); TLB],
    values: Box<dyn Values>,
    /// Regions that are zero until written.
    zeros: HashSet<RegionId>,
    allocations: u32,
    /// Bytes that `malloc` may still give.
    heap: u64,
    /// The last writer by address, if requested.
    writers: Option<HashMap<u64, Writer, FixedState>>,
}

/// A thread: its block, and its index in the block.
type Thread = (u32, u32, u32, u32);

/// The last writer of a byte, the value, and whether another thread had written a different value.
#[derive(Debug, Clone, Copy)]
struct Writer {
    thread: Thread,
    byte: u8,
    is_contested: bool,
}

impl fmt::Debug for Memory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Memory")
            .field("regions", &self.regions.values())
            .field("pages", &self.pages.len())
            .finish_non_exhaustive()
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(Zeros)
    }
}

impl Memory {
    /// Memory without regions, limited to 128 MiB of pages.
    pub fn new(values: impl Values + 'static) -> Self {
        Self {
            regions: BTreeMap::new(),
            by_origin: HashMap::default(),
            index: HashMap::default(),
            pages: Vec::new(),
            tlb: [(u64::MAX, 0); TLB],
            values: Box::new(values),
            zeros: HashSet::new(),
            allocations: 0,
            heap: HEAP_BYTES,
            writers: None,
        }
    }

    /// The region that the n-th pointer of a launch points to; its address is the parameter's value.
    pub fn parameter(&mut self, number: u32) -> RegionId {
        self.region(Origin::Parameter(number), None)
    }

    /// The region of an origin, created if necessary.
    pub fn region(&mut self, origin: Origin, bytes: Option<u64>) -> RegionId {
        if let Some(id) = self.by_origin.get(&origin) {
            return *id;
        }
        let mut number = match &origin {
            Origin::Parameter(number) => FIRST_PARAMETER + u64::from(*number) % (FIRST_OTHER - FIRST_PARAMETER),
            other => FIRST_OTHER + hash_of(other) % OTHERS,
        };
        while self.regions.contains_key(&RegionId(number as u32)) {
            number = if number < FIRST_OTHER + OTHERS { number + 1 } else { FIRST_OTHER };
        }
        let id = RegionId(number as u32);
        self.regions.insert(id, Region { id, origin: origin.clone(), bytes, element: None });
        self.by_origin.insert(origin, id);
        id
    }

    /// All regions, by number.
    pub fn regions(&self) -> impl Iterator<Item = &Region> {
        self.regions.values()
    }

    /// The region that contains an address, and the offset in it.
    pub fn locate(&self, address: u64) -> Option<(&Region, i64)> {
        let id = RegionId(u32::try_from(address >> REGION_SHIFT).ok()?);
        let region = self.regions.get(&id)?;
        Some((region, address.wrapping_sub(id.address()).cast_signed()))
    }

    /// Sets the element type of a region before its first access.
    pub fn set_element(&mut self, region: RegionId, element: Element) {
        if let Some(region) = self.regions.get_mut(&region) {
            region.element = Some(element);
        }
    }

    /// Stores bytes as a program does before a launch: they do not count as written.
    ///
    /// # Errors
    /// The memory limit is exceeded.
    pub fn fill(&mut self, region: RegionId, offset: i64, bytes: &[u8]) -> Result<(), Fault> {
        let start = region.address().wrapping_add(offset.cast_unsigned());
        for (address, byte) in (start..).zip(bytes) {
            let page = self.page(address)?;
            let at = (address as usize) % PAGE;
            let page = &mut self.pages[page];
            page.data[at] = *byte;
            page.touched[at / 64] |= 1 << (at % 64);
        }
        Ok(())
    }

    /// Current bytes of a region; untouched bytes are created.
    ///
    /// # Errors
    /// The memory limit is exceeded.
    pub fn bytes(&mut self, region: RegionId, offset: i64, count: usize) -> Result<Vec<u8>, Fault> {
        let start = region.address().wrapping_add(offset.cast_unsigned());
        let access = Access { bytes: 1, ty: Type::B8, class: Class::Unknown };
        (start..).take(count).map(|address| Ok(self.read(address, 1, access)?.0 as u8)).collect()
    }

    /// The range of offsets that contains all touched bytes of a region.
    pub fn touched(&self, region: RegionId) -> Option<std::ops::Range<i64>> {
        let mut range: Option<std::ops::Range<i64>> = None;
        for (key, page) in &self.index {
            let page = &self.pages[*page as usize];
            if page.region != region {
                continue;
            }
            let touched = || (0..PAGE).filter(|at| page.touched[at / 64] >> (at % 64) & 1 == 1);
            let (Some(first), Some(last)) = (touched().next(), touched().next_back()) else { continue };
            let start = (key << PAGE_SHIFT).wrapping_sub(region.address()).cast_signed();
            let (first, end) = (start + first as i64, start + last as i64 + 1);
            let known = range.unwrap_or(first..end);
            range = Some(known.start.min(first)..known.end.max(end));
        }
        range
    }

    /// Whether the kernel wrote anything.
    pub fn has_written(&self) -> bool {
        self.pages.iter().any(|page| page.written.iter().any(|bits| *bits != 0))
    }

    /// All written bytes, by origin and offset.
    pub fn written(&self) -> Vec<Written> {
        let mut keys: Vec<(u64, usize)> = self.index.iter().map(|(key, page)| (*key, *page as usize)).collect();
        keys.sort_unstable();
        let mut all: Vec<(u64, Written)> = Vec::new();
        for (key, page) in keys {
            let page = &self.pages[page];
            for at in (0..PAGE).filter(|at| page.written[at / 64] >> (at % 64) & 1 == 1) {
                let address = key << PAGE_SHIFT | at as u64;
                match all.last_mut() {
                    Some((end, written)) if *end == address => {
                        written.bytes.push(page.data[at]);
                        *end += 1;
                    }
                    _ => {
                        let Some(region) = self.regions.get(&page.region) else { continue };
                        let offset = address.wrapping_sub(page.region.address()).cast_signed();
                        let written = Written { origin: region.origin.clone(), offset, bytes: vec![page.data[at]] };
                        all.push((address + 1, written));
                    }
                }
            }
        }
        let mut all: Vec<Written> = all.into_iter().map(|(_, written)| written).collect();
        all.sort_by(|a, b| (&a.origin, a.offset).cmp(&(&b.origin, b.offset)));
        all
    }

    /// The floating-point type of the value stored here last, as far as the text of the function shows.
    pub fn float_at(&self, region: RegionId, offset: i64) -> Option<Type> {
        let address = region.address().wrapping_add(offset.cast_unsigned());
        let page = self.index.get(&(address >> PAGE_SHIFT))?;
        let number = self.pages[*page as usize].floats[address as usize % PAGE];
        FLOATS.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// Starts recording which threads store to global memory, except by atomics. Takes time.
    pub fn note_writers(&mut self) {
        self.writers = Some(HashMap::default());
    }

    /// Whether several threads stored different values here, so that the result may depend on timing.
    pub fn is_contested(&self, region: RegionId, offset: i64) -> bool {
        let address = region.address().wrapping_add(offset.cast_unsigned());
        self.writers.as_ref().and_then(|writers| writers.get(&address)).is_some_and(|writer| writer.is_contested)
    }

    #[inline]
    pub(crate) fn notes_writers(&self) -> bool {
        self.writers.is_some()
    }

    pub(crate) fn note_writer(&mut self, address: u64, bytes: u32, value: u64, thread: Thread) {
        let Some(writers) = &mut self.writers else { return };
        for (address, byte) in (address..).zip(&value.to_le_bytes()[..bytes as usize]) {
            let before = writers.get(&address).copied();
            let is_contested =
                before.is_some_and(|last| last.is_contested || (last.thread != thread && last.byte != *byte));
            writers.insert(address, Writer { thread, byte: *byte, is_contested });
        }
    }

    /// The region of an origin, if it exists.
    pub fn region_of(&self, origin: &Origin) -> Option<RegionId> {
        self.by_origin.get(origin).copied()
    }

    pub(crate) fn set_zero(&mut self, region: RegionId) {
        self.zeros.insert(region);
    }

    pub(crate) fn is_zero(&mut self, variable: &ptx_syntax::Variable) -> bool {
        self.values.is_zero(variable)
    }

    /// The address of new memory; 0 where the heap has no more. What was freed is not given again.
    pub(crate) fn allocate(&mut self, bytes: u64) -> u64 {
        let Some(left) = self.heap.checked_sub(bytes) else { return 0 };
        self.heap = left;
        self.allocations += 1;
        self.region(Origin::Allocated(self.allocations), Some(bytes)).address()
    }

    /// Pages that were touched.
    pub(crate) fn pages(&self) -> u64 {
        self.pages.len() as u64
    }

    #[inline]
    fn page(&mut self, address: u64) -> Result<usize, Fault> {
        let key = address >> PAGE_SHIFT;
        let slot = (key ^ key >> 24) as usize % TLB;
        let (cached, page) = self.tlb[slot];
        if cached == key {
            return Ok(page as usize);
        }
        let page = match self.index.get(&key) {
            Some(page) => *page,
            None => self.new_page(address, key)?,
        };
        self.tlb[slot] = (key, page);
        Ok(page as usize)
    }

    #[cold]
    fn new_page(&mut self, address: u64, key: u64) -> Result<u32, Fault> {
        let Some((region, _)) = self.locate(address) else { return Err(Fault::NoMemory { address }) };
        if self.pages.len() >= MAX_PAGES {
            return Err(Fault::TooMuchMemory);
        }
        let start = region.id.address();
        let bounds = region.bytes.map(|bytes| (start, start.saturating_add(bytes)));
        let page = Page {
            data: [0; PAGE],
            touched: [0; PAGE / 64],
            written: [0; PAGE / 64],
            floats: [0; PAGE],
            region: region.id,
            bounds,
        };
        let number = self.pages.len() as u32;
        self.pages.push(Box::new(page));
        self.index.insert(key, number);
        Ok(number)
    }

    /// Reads 1, 2, 4 or 8 aligned bytes; the flag says whether they lie outside their variable.
    #[inline]
    pub(crate) fn read(&mut self, address: u64, bytes: u32, access: Access) -> Result<(u64, bool), Fault> {
        let number = self.page(address)?;
        let at = address as usize % PAGE;
        let page = &self.pages[number];
        let mask = (u64::MAX >> (64 - bytes)) << (at % 64);
        if page.touched[at / 64] & mask != mask {
            self.come_into_being(number, address, bytes, access)?;
        }
        let page = &self.pages[number];
        let data = &page.data[at..at + bytes as usize];
        let value = match *data {
            [a] => u64::from(a),
            [a, b] => u64::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => 0,
        };
        Ok((value, is_outside(page.bounds, address, bytes)))
    }

    #[inline]
    pub(crate) fn write(&mut self, address: u64, bytes: u32, class: Class, value: u64) -> Result<bool, Fault> {
        let number = self.page(address)?;
        let at = address as usize % PAGE;
        let page = &mut self.pages[number];
        let mask = (u64::MAX >> (64 - bytes)) << (at % 64);
        page.touched[at / 64] |= mask;
        page.written[at / 64] |= mask;
        page.data[at..at + bytes as usize].copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
        page.floats[at..at + bytes as usize].fill(float_number(class));
        Ok(is_outside(page.bounds, address, bytes))
    }

    #[cold]
    fn come_into_being(&mut self, number: usize, address: u64, bytes: u32, access: Access) -> Result<(), Fault> {
        let id = self.pages[number].region;
        if self.zeros.contains(&id) {
            self.pages[number].touched = [u64::MAX; PAGE / 64];
            return Ok(());
        }
        let Some(region) = self.regions.get_mut(&id) else { return Err(Fault::NoMemory { address }) };
        let element = match region.element {
            Some(element) => element,
            None => {
                let mut element = self.values.element(region, access);
                element.bytes = element.bytes.clamp(1, 8).next_power_of_two();
                region.element = Some(element);
                element
            }
        };
        let size = u64::from(element.bytes);
        let mut start = address & !(size - 1);
        while start < address + u64::from(bytes) {
            let region = &self.regions[&id];
            let offset = start.wrapping_sub(id.address()).cast_signed();
            let value = match self.values.value(region, element, offset, access) {
                Value::Bits(bits) => bits,
                Value::Pointer => self.region(Origin::Loaded { from: id, offset }, None).address(),
            };
            // An element never crosses a page boundary, as its size divides that of a page.
            let page = &mut self.pages[number];
            for (at, byte) in (start as usize % PAGE..).zip(&value.to_le_bytes()[..element.bytes as usize]) {
                if page.touched[at / 64] >> (at % 64) & 1 == 0 {
                    page.touched[at / 64] |= 1 << (at % 64);
                    page.data[at] = *byte;
                }
            }
            start += size;
        }
        Ok(())
    }
}

/// Floating-point types that stores are tracked for.
const FLOATS: [Type; 7] = [Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2, Type::F32, Type::F32x2, Type::F64];

#[inline]
fn float_number(class: Class) -> u8 {
    match class {
        Class::Float(ty) => FLOATS.iter().position(|known| *known == ty).map_or(0, |at| at as u8 + 1),
        _ => 0,
    }
}

#[inline]
fn is_outside(bounds: Option<(u64, u64)>, address: u64, bytes: u32) -> bool {
    bounds.is_some_and(|(start, end)| address < start || address.saturating_add(u64::from(bytes)) > end)
}

/// A hash that is stable across machines and versions.
fn hash_of(origin: &Origin) -> u64 {
    match origin {
        Origin::Parameter(number) => mix(1, u64::from(*number)),
        Origin::Variable(name) => name.bytes().fold(2, |hash, byte| mix(hash, u64::from(byte))),
        Origin::Loaded { from, offset } => mix(mix(3, u64::from(from.0)), offset.cast_unsigned()),
        Origin::Allocated(number) => mix(4, u64::from(*number)),
    }
}

/// Mixes two numbers into a pseudo-random one: a round of SplitMix64.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(b).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
