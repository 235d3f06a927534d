//! Global memory: regions far from each other, whose bytes come into being when they are first touched.
//!
//! The upper bits of an address name the region, so that a pointer that leaves its array still points into it, however far. What the
//! bytes are decides a [`Values`]; it is asked by region and offset, so that two versions of a kernel see the same memory
//! whatever the order in which they read it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use ptx_syntax::Type;

use crate::outcome::Fault;

/// Bits of an address below the region's number.
const REGION_SHIFT: u32 = 36;
/// Where in its 64 GiB a region starts: offsets may be negative.
const START: u64 = 1 << (REGION_SHIFT - 1);
/// What reads of local and shared memory give that nobody has written.
pub(crate) const UNWRITTEN: u8 = 0xcd;

const PAGE_SHIFT: u32 = 12;
const PAGE: usize = 1 << PAGE_SHIFT;
const TLB: usize = 64;

/// Numbers of windows that are no regions.
const SHARED: u64 = 1;
const LOCAL: u64 = 2;
const PARAMETERS: u64 = 3;
const CODE: u64 = 4;
/// Numbers of regions that parameters lead to; what else there is comes behind.
const FIRST_PARAMETER: u64 = 16;
const FIRST_OTHER: u64 = 1 << 16;
/// Numbers of other regions.
const OTHERS: u64 = 1 << 22;

/// Start of the window of generic addresses of shared memory.
pub(crate) const SHARED_WINDOW: u64 = SHARED << REGION_SHIFT;
/// Start of the window of local memory; each thread has its own behind it.
pub(crate) const LOCAL_WINDOW: u64 = LOCAL << REGION_SHIFT;
/// Start of the window of a kernel's parameters.
pub(crate) const PARAMETER_WINDOW: u64 = PARAMETERS << REGION_SHIFT;
/// Start of the addresses of functions.
pub(crate) const CODE_WINDOW: u64 = CODE << REGION_SHIFT;
pub(crate) const WINDOW_SIZE: u64 = 1 << REGION_SHIFT;

/// Where a region comes from, which is also its name in both versions of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// The pointer with this number among those that the launch passes.
    Parameter(u32),
    /// A variable of the module.
    Variable(Arc<str>),
    /// The pointer that lies at an offset of another region.
    Loaded {
        /// The region that holds the pointer.
        from: RegionId,
        /// Where in it.
        offset: i64,
    },
    /// What the n-th call of `malloc` gave.
    Allocated(u32),
}

/// A region: its number is the same in all runs in which its origin is the same, but for collisions of hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(u32);

impl RegionId {
    /// Address of offset 0.
    pub fn address(self) -> u64 {
        u64::from(self.0) << REGION_SHIFT | START
    }
}

/// What is known of a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Its number.
    pub id: RegionId,
    /// Where it comes from.
    pub origin: Origin,
    /// Bytes, of variables of the module and allocations; others have no end.
    pub bytes: Option<u64>,
    /// What it holds; decided when it is first touched.
    pub element: Option<Element>,
}

/// What a register that takes a loaded value is used for, as far as the text of its function says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// In floating-point operations of this type.
    Float(Type),
    /// In integer operations.
    Integer,
    /// As the base of an address.
    Pointer,
    /// Moved alone.
    Unknown,
}

/// The access that touches a region first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Bytes of one element: 1, 2, 4 or 8.
    pub bytes: u32,
    /// The type in the instruction, often only `.b32`.
    pub ty: Type,
    /// What becomes of the value.
    pub class: Class,
}

/// The element of a region: bytes are made in such units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    /// 1, 2, 4 or 8.
    pub bytes: u32,
    /// What it is used for.
    pub class: Class,
}

/// A value that comes into being.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Its bits.
    Bits(u64),
    /// The address of a region of its own.
    Pointer,
}

/// Decides what memory holds that nobody has written.
///
/// Answers must depend on the region's origin and the offset alone, so that all versions of a kernel see the same.
pub trait Values {
    /// In which units a region is filled. Asked once, when the region is first touched.
    fn element(&mut self, region: &Region, first: Access) -> Element;

    /// The element at an offset, which is a multiple of its bytes.
    fn value(&mut self, region: &Region, element: Element, offset: i64) -> Value;

    /// Whether a variable of the module without initial values is zero; what programs write into it before a launch is not in its text.
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

    fn value(&mut self, _: &Region, _: Element, _: i64) -> Value {
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
    /// By byte: of which floating-point type the value is that was written last, as a place in [`FLOATS`], from 1.
    floats: [u8; PAGE],
    region: RegionId,
    /// First and last address of its region, where it has an end.
    bounds: Option<(u64, u64)>,
}

/// Bytes that were written next to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Where they lie.
    pub origin: Origin,
    /// Offset of the first.
    pub offset: i64,
    /// As they are at the end.
    pub bytes: Vec<u8>,
}

/// Global memory of a launch, with constants and variables of the module.
pub struct Memory {
    regions: BTreeMap<RegionId, Region>,
    by_origin: HashMap<Origin, RegionId>,
    index: HashMap<u64, u32>,
    pages: Vec<Box<Page>>,
    tlb: [(u64, u32); TLB],
    values: Box<dyn Values>,
    /// Regions whose bytes are zero until they are written.
    zeros: HashSet<RegionId>,
    max_pages: usize,
    allocations: u32,
    /// By address, where asked for.
    writers: Option<HashMap<u64, Writer>>,
}

/// A thread: its block, and its number there.
type Thread = (u32, u32, u32, u32);

/// Who wrote a byte last, what, and whether another thread had written something else.
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
    /// Memory without regions, at most 512 MiB of pages.
    pub fn new(values: impl Values + 'static) -> Self {
        Self {
            regions: BTreeMap::new(),
            by_origin: HashMap::new(),
            index: HashMap::new(),
            pages: Vec::new(),
            tlb: [(u64::MAX, 0); TLB],
            values: Box::new(values),
            zeros: HashSet::new(),
            max_pages: 1 << 17,
            allocations: 0,
            writers: None,
        }
    }

    /// The region that the n-th pointer of a launch leads to; its address goes into the parameters.
    pub fn parameter(&mut self, number: u32) -> RegionId {
        self.region(Origin::Parameter(number), None)
    }

    /// The region of an origin, which is made where there is none yet.
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

    /// The regions there are, by number.
    pub fn regions(&self) -> impl Iterator<Item = &Region> {
        self.regions.values()
    }

    /// The region of an address, and the offset in it.
    pub fn locate(&self, address: u64) -> Option<(&Region, i64)> {
        let id = RegionId(u32::try_from(address >> REGION_SHIFT).ok()?);
        let region = self.regions.get(&id)?;
        Some((region, address.wrapping_sub(id.address()).cast_signed()))
    }

    /// Says what a region holds before it is touched.
    pub fn set_element(&mut self, region: RegionId, element: Element) {
        if let Some(region) = self.regions.get_mut(&region) {
            region.element = Some(element);
        }
    }

    /// Puts bytes into a region as a program does before a launch: they do not count as written.
    ///
    /// # Errors
    /// There is too much memory.
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

    /// Bytes of a region as they are; those that nobody has touched are made.
    ///
    /// # Errors
    /// There is too much memory.
    pub fn bytes(&mut self, region: RegionId, offset: i64, count: usize) -> Result<Vec<u8>, Fault> {
        let start = region.address().wrapping_add(offset.cast_unsigned());
        let access = Access { bytes: 1, ty: Type::B8, class: Class::Unknown };
        (start..).take(count).map(|address| Ok(self.read(address, 1, access)?.0 as u8)).collect()
    }

    /// The offsets of a region between which all lies that was touched.
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

    /// All that was written, by origin and offset.
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

    /// The floating-point type of the value that a store wrote here last, as far as the text of its function says.
    pub fn float_at(&self, region: RegionId, offset: i64) -> Option<Type> {
        let address = region.address().wrapping_add(offset.cast_unsigned());
        let page = self.index.get(&(address >> PAGE_SHIFT))?;
        let number = self.pages[*page as usize].floats[address as usize % PAGE];
        FLOATS.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// Notes from now on which threads store to global memory; atomics do not count. Takes time.
    pub fn note_writers(&mut self) {
        self.writers = Some(HashMap::new());
    }

    /// Whether several threads stored different values here: what is left may depend on timing.
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

    /// The region of an origin, where there is one.
    pub fn region_of(&self, origin: &Origin) -> Option<RegionId> {
        self.by_origin.get(origin).copied()
    }

    pub(crate) fn set_zero(&mut self, region: RegionId) {
        self.zeros.insert(region);
    }

    pub(crate) fn is_zero(&mut self, variable: &ptx_syntax::Variable) -> bool {
        self.values.is_zero(variable)
    }

    pub(crate) fn allocate(&mut self, bytes: u64) -> u64 {
        self.allocations += 1;
        self.region(Origin::Allocated(self.allocations), Some(bytes)).address()
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
        if self.pages.len() >= self.max_pages {
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

    /// 1, 2, 4 or 8 bytes at a multiple of as many, and whether they lie outside their variable.
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
            let value = match self.values.value(region, element, offset) {
                Value::Bits(bits) => bits,
                Value::Pointer => self.region(Origin::Loaded { from: id, offset }, None).address(),
            };
            // An element never crosses a page: its size divides it.
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

/// Types of values that stores write.
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

/// A hash that is the same on every machine and in every version.
fn hash_of(origin: &Origin) -> u64 {
    match origin {
        Origin::Parameter(number) => mix(1, u64::from(*number)),
        Origin::Variable(name) => name.bytes().fold(2, |hash, byte| mix(hash, u64::from(byte))),
        Origin::Loaded { from, offset } => mix(mix(3, u64::from(from.0)), offset.cast_unsigned()),
        Origin::Allocated(number) => mix(4, u64::from(*number)),
    }
}

/// Two numbers to one that looks random: a round of SplitMix64.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(b).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
