//! The types of the front end's file: names, sizes and members, laid out as C does.

use std::collections::HashMap;

use lmem_base::casts::without_casts;
use lmem_base::mangling::demangle_whole;

use super::FrontEndMember;
use super::closing;
use super::declarator::{self, Declarator};

/// No member of a kernel's structure is larger, in bytes: sums of sizes do not overflow.
const MAX_MEMBER: u64 = 1 << 32;

/// Prefix of the number of an unnamed structure.
const UNNAMED: &str = "unnamed ";

/// What the front end writes at the end of a structure with padding there.
const END_PADDING: &str = "__nv_no_debug_dummy_end_padding";

/// Limit on nested types; it stops circular definitions.
const MAX_DEPTH: usize = 32;

/// Pointer size in device code.
const POINTER_BYTES: u64 = 8;

const POINTER: Layout = Layout { bytes: POINTER_BYTES, alignment: POINTER_BYTES };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    bytes: u64,
    alignment: u64,
}

/// The type of a declaration.
pub struct Declared {
    pub text: String,
    layout: Option<Layout>,
}

impl Declared {
    pub fn bytes(&self) -> Option<u64> {
        self.layout.map(|layout| layout.bytes)
    }
}

struct Field {
    name: String,
    offset: u64,
    head: String,
    behind: String,
    bytes: u64,
}

/// A member as declared, with its bit width.
struct Member {
    name: String,
    head: String,
    behind: String,
    layout: Option<Layout>,
    bits: Option<u64>,
}

/// What the head or the end of a structure says of its layout.
#[derive(Clone, Copy, Default)]
struct Demands {
    /// `__aligned__(16)`
    alignment: Option<u64>,
    /// The largest alignment of members: 1 in a packed structure, or that of `#pragma pack`.
    limit: Option<u64>,
}

/// Types by their name in the file.
#[derive(Default)]
pub struct Types {
    structures: HashMap<String, (Option<Layout>, Vec<Field>)>,
    /// What type names stand for: the text before the name, and the text behind it.
    names: HashMap<String, (String, String)>,
    enums: HashMap<String, u64>,
    /// `#pragma pack(2)`
    packing: Option<u64>,
}

impl Types {
    /// `#pragma pack(1)`; `#pragma pack()` ends it.
    pub fn pack(&mut self, line: &str) {
        let arguments = line.trim_start_matches("#pragma").trim().strip_prefix("pack");
        let Some(arguments) = arguments.and_then(|rest| rest.trim().strip_prefix('(')) else { return };
        self.packing = arguments.trim_end().trim_end_matches(')').trim().parse().ok();
    }

    /// `typedef struct __half2 half2;`, `typedef float Row[4];`, `typedef void (*Action)(int);`
    pub fn define_name(&mut self, line: &str) {
        let text = without_attributes(line.trim_start_matches("typedef").trim().trim_end_matches(';'));
        // The type of a function has no size.
        let is_function = text.contains('(') && !declarator::is_pointer(&text);
        let Some(Declarator { head, name, behind }) = declarator::read(&text).filter(|_| !is_function) else { return };
        if !text.contains('{') && !name.is_empty() {
            self.names.insert(name.to_string(), (head.trim().to_string(), behind.trim().to_string()));
        }
    }

    /// `enum _ZN3Der1KE {` or `enum E : unsigned char {`
    pub fn define_enum(&mut self, line: &str) {
        let head = line.trim_start_matches("enum").split('{').next().unwrap_or("");
        let (name, base) = head.split_once(':').unwrap_or((head, "int"));
        let bytes = scalar(base.trim()).map_or(4, |layout| layout.bytes);
        self.enums.insert(name.trim().to_string(), bytes);
    }

    pub fn define_structure(&mut self, text: &str) {
        let Some((head, rest)) = text.split_once('{') else { return };
        let Some((body, tail)) = rest.rsplit_once('}') else { return };
        let is_union = head.trim_start().starts_with("union");
        let name = head.split_whitespace().next_back().unwrap_or("").to_string();
        let (layout, fields) = self.lay_out(body, is_union, self.demands(head, tail));
        self.structures.insert(name, (layout, fields));
    }

    fn demands(&self, head: &str, tail: &str) -> Demands {
        let limit = if is_packed(head) || is_packed(tail) { Some(1) } else { self.packing };
        Demands { alignment: aligned(head).max(aligned(tail)), limit }
    }

    /// Lays out members as C does; the size is `None` if a member's size is unknown.
    fn lay_out(&mut self, body: &str, is_union: bool, demands: Demands) -> (Option<Layout>, Vec<Field>) {
        let unknown = || (None, Vec::new());
        let mut fields = Vec::new();
        let (mut end_bits, mut largest, mut alignment) = (0u64, 0u64, demands.alignment.unwrap_or(1).max(1));
        let mut padding = 0;
        for member in members(body) {
            let Some(Member { name, head, behind, layout, bits }) = self.member(&member, demands.limit) else {
                return unknown();
            };
            let Some(layout) = layout.filter(|layout| layout.bytes <= MAX_MEMBER) else { return unknown() };
            alignment = alignment.max(layout.alignment);
            if let Some(bits) = bits {
                // A bit-field does not cross a boundary of its type's storage unit; a zero-width bit-field ends the
                // unit.
                let unit = layout.bytes.saturating_mul(8);
                // Damaged text has fields that are wider than their type, or of a type without a size.
                if unit == 0 || bits > unit || demands.limit.is_some() {
                    return unknown();
                }
                if bits == 0 || end_bits / unit != (end_bits + bits - 1) / unit {
                    end_bits = end_bits.next_multiple_of(unit);
                }
                end_bits += bits;
                largest = largest.max(bits.div_ceil(8));
                continue;
            }
            if name.starts_with(END_PADDING) {
                padding = layout.bytes;
            }
            let offset = if is_union { 0 } else { end_bits.div_ceil(8).next_multiple_of(layout.alignment) };
            end_bits = (offset + layout.bytes).checked_mul(8).unwrap_or(u64::MAX / 2);
            largest = largest.max(layout.bytes);
            fields.push(Field { name, offset, head, behind, bytes: layout.bytes });
        }
        // The file has `unsigned long long` for a member of 16 B, `__int128`.
        if padding >= alignment {
            return unknown();
        }
        let bytes = if is_union { largest } else { end_bits.div_ceil(8) }.next_multiple_of(alignment);
        (Some(Layout { bytes: bytes.max(1), alignment }), fields)
    }

    fn member(&mut self, text: &str, limit: Option<u64>) -> Option<Member> {
        let text = text.trim();
        if let Some((head, rest)) = text.split_once('{') {
            // An anonymous union or structure gets a unique name.
            let (body, tail) = rest.rsplit_once('}')?;
            let (layout, fields) = self.lay_out(body, head.trim_start().starts_with("union"), self.demands(head, tail));
            let own = format!("{UNNAMED}{}", self.structures.len());
            self.structures.insert(own.clone(), (layout, fields));
            let tail = without_attributes(tail);
            let (name, behind) = tail.split_at(tail.find('[').unwrap_or(tail.len()));
            let layout = self.declared(&own, behind).layout.map(|layout| within(layout, limit));
            let (name, behind) = (name.trim().to_string(), behind.to_string());
            return Some(Member { name, head: own, behind, layout, bits: None });
        }
        let (forced, is_packed) = (aligned(text), is_packed(text));
        // Which of both holds is not known.
        if forced.is_some() && (is_packed || limit.is_some()) {
            return None;
        }
        let text = without_attributes(text);
        let (text, bits) = match text.split_once(':') {
            Some((text, bits)) => (text, Some(bits.trim().parse().ok()?)),
            None => (text.as_str(), None),
        };
        let Declarator { head, name, behind } = declarator::read(text)?;
        let layout = self.declared(head, behind).layout.map(|layout| {
            let alignment = forced.map_or(layout.alignment, |forced| forced.max(layout.alignment));
            within(Layout { alignment, ..layout }, if is_packed { Some(1) } else { limit })
        });
        let (name, head, behind) = (name.to_string(), head.trim().to_string(), behind.trim().to_string());
        Some(Member { name, head, behind, layout, bits })
    }

    /// The type of a declaration, by the text before its name and the text behind it: `float` and `[8][3]`.
    pub fn declared(&self, head: &str, behind: &str) -> Declared {
        self.declared_at(head, behind, 0)
    }

    fn declared_at(&self, head: &str, behind: &str, depth: usize) -> Declared {
        let behind = behind.trim();
        let (element, own) = match head.contains('(') {
            // What stands in the parentheses is of the pointer: `(*rows[2])[4]` are two.
            true => {
                let own = behind.split(')').next().unwrap_or("");
                let text = format!("{}{behind}", declarator::without_qualifiers(head));
                (Declared { text, layout: Some(POINTER) }, own)
            }
            false => (self.element(head, depth), behind),
        };
        let extents = || own.split('[').skip(1).map(|extent| extent.split(']').next().unwrap_or("").trim());
        let layout = element.layout.and_then(|layout| {
            let number = |extent: &str| extent.trim_end_matches(['U', 'L']).parse::<u64>().ok();
            let count = extents().try_fold(1u64, |product, extent| product.checked_mul(number(extent)?))?;
            Some(Layout { bytes: layout.bytes.checked_mul(count)?, ..layout })
        });
        if head.contains('(') {
            return Declared { layout, ..element };
        }
        let suffix: String = extents().map(|extent| format!("[{extent}]")).collect();
        Declared { text: format!("{}{suffix}", element.text), layout }
    }

    fn element(&self, head: &str, depth: usize) -> Declared {
        let text = declarator::without_qualifiers(head);
        if text.ends_with(['*', '&']) || depth > MAX_DEPTH {
            // A pointer that is `volatile` itself stays in memory for that.
            let is_volatile = head.trim_end().ends_with("volatile");
            let text = if is_volatile { format!("{text}volatile") } else { text };
            return Declared { text, layout: Some(POINTER) };
        }
        if let Some(layout) = scalar(&text) {
            let text = if text == "__nv_bool" { "bool".to_string() } else { text };
            return Declared { text, layout: Some(layout) };
        }
        let shown = readable(&text);
        if let Some((layout, _)) = self.structures.get(&text) {
            return Declared { text: shown, layout: *layout };
        }
        if let Some(bytes) = self.enums.get(&text) {
            return Declared { text: shown, layout: Some(Layout { bytes: *bytes, alignment: *bytes }) };
        }
        match self.names.get(&text) {
            Some((head, behind)) => Declared { text: shown, layout: self.declared_at(head, behind, depth + 1).layout },
            None => Declared { text: shown, layout: vector(&text) },
        }
    }

    /// All members of a variable that is a single structure, in order.
    pub fn members(&self, head: &str, behind: &str) -> Vec<FrontEndMember> {
        if behind.contains('[') || head.contains(['*', '(']) {
            return Vec::new();
        }
        let mut found = Members { all: Vec::new(), visits: 0 };
        self.collect(&self.plain_name(head), "", 0, 0, &mut found);
        found.all
    }

    fn plain_name(&self, head: &str) -> String {
        let mut name = declarator::without_qualifiers(head);
        for _ in 0..MAX_DEPTH {
            let Some((head, _)) = self.names.get(&name).filter(|(_, behind)| behind.is_empty()) else { break };
            name = declarator::without_qualifiers(head);
        }
        name
    }

    fn collect(&self, structure: &str, path: &str, offset: u64, depth: usize, found: &mut Members) {
        let Some((_, fields)) = self.structures.get(structure).filter(|_| depth < MAX_DEPTH) else { return };
        let is_unnamed = |field: &Field| field.head.starts_with(UNNAMED);
        // In a damaged text structures may contain themselves, several times each.
        found.visits += 1;
        if found.visits > MOST_STRUCTURES {
            return;
        }
        for field in fields.iter().filter(|field| !field.name.is_empty() || is_unnamed(field)) {
            let offset = offset + field.offset;
            // A base class and an anonymous union are members without a name of their own.
            let is_base = field.name.starts_with("__b_") || field.name.is_empty();
            let inner = match (is_base, path.is_empty()) {
                (true, _) => path.to_string(),
                (false, true) => field.name.clone(),
                (false, false) => format!("{path}.{}", field.name),
            };
            if !is_base && !field.name.starts_with("__nv_no_debug") {
                let type_text = self.declared(&field.head, &field.behind).text;
                found.all.push(FrontEndMember { path: inner.clone(), offset, bytes: field.bytes, type_text });
            }
            if field.behind.is_empty() {
                self.collect(&self.plain_name(&field.head), &inner, offset, depth + 1, found);
            }
        }
    }
}

/// The members that are collected of a variable, and how many structures were looked into for them.
struct Members {
    all: Vec<FrontEndMember>,
    visits: usize,
}

/// Limit on the structures in a variable that are looked into.
const MOST_STRUCTURES: usize = 1024;

/// `Ring<float, 32>` for `_Z4RingIfLi32EE`; a name that is not mangled is kept. A type of a function's own has the name that the
/// function calls it by.
pub fn readable(name: &str) -> String {
    if name.starts_with(UNNAMED) {
        return "struct".to_string();
    }
    if !name.starts_with("_Z") {
        return name.to_string();
    }
    let text = demangle_whole(name).map_or_else(|| name.to_string(), |demangled| without_casts(&demangled));
    if name.starts_with("_ZZ") { last_part(&text).to_string() } else { text }
}

/// What follows the last `::` outside of brackets.
pub fn last_part(name: &str) -> &str {
    let mut depth = 0usize;
    let mut start = 0;
    for (at, letter) in name.char_indices() {
        match letter {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    &name[start..]
}

/// The top-level members of a structure's body.
fn members(body: &str) -> Vec<String> {
    let mut members = Vec::new();
    let mut depth = 0usize;
    let mut start = 0;
    for (at, character) in body.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => {
                members.push(body[start..at].trim().to_string());
                start = at + 1;
            }
            _ => {}
        }
    }
    members.retain(|member| !member.is_empty());
    members
}

/// `16` for `__attribute__((__aligned__(16)))`.
fn aligned(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("aligned")?;
    let digits = rest.trim_start_matches(['_', '(', ' ']);
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok().filter(|bytes: &u64| bytes.is_power_of_two())
}

fn is_packed(text: &str) -> bool {
    text.contains("__packed__")
}

/// A member's layout in a structure that limits the alignment.
fn within(layout: Layout, limit: Option<u64>) -> Layout {
    Layout { alignment: limit.map_or(layout.alignment, |limit| layout.alignment.min(limit.max(1))), ..layout }
}

pub fn without_attributes(text: &str) -> String {
    let mut text = text.to_string();
    while let Some(at) = text.find("__attribute__") {
        let Some(length) = text[at..].find('(').and_then(|open| Some(open + closing(&text[at + open..])?)) else {
            break;
        };
        text.replace_range(at..at + length, "");
    }
    text
}

fn scalar(name: &str) -> Option<Layout> {
    let bytes = match name {
        "char" | "signed char" | "unsigned char" | "__nv_bool" | "bool" => 1,
        "short" | "unsigned short" | "short int" => 2,
        "int" | "unsigned" | "unsigned int" | "float" | "wchar_t" => 4,
        "long" | "unsigned long" | "long long" | "unsigned long long" | "double" => 8,
        _ => return None,
    };
    Some(Layout { bytes, alignment: bytes })
}

/// CUDA's built-in vector types, which the file uses without a definition.
fn vector(name: &str) -> Option<Layout> {
    let (element, count) = name.split_at_checked(name.len().checked_sub(1)?)?;
    let count: u64 = count.parse().ok().filter(|count| (1..=4).contains(count))?;
    let bytes = match element {
        "char" | "uchar" => 1,
        "short" | "ushort" => 2,
        "int" | "uint" | "float" => 4,
        "long" | "ulong" | "longlong" | "ulonglong" | "double" => 8,
        _ => return None,
    };
    let alignment = if count == 3 { bytes } else { (bytes * count).min(16) };
    Some(Layout { bytes: bytes * count, alignment })
}

#[cfg(test)]
mod tests {
    use super::super::FrontEnd;

    /// Definitions as nvcc 13 writes them.
    const TYPES: &str = "typedef void (*Fn)(int);
typedef float Row[4];
typedef const float *const CP;
typedef int Function(int);
struct Plain {
const float *in;
float *__restrict__ room;
unsigned stride;char __nv_no_debug_dummy_end_padding_0[4];};
struct Arr {
float *__restrict__ a[3];
float *b[2];
const float *__restrict__ c[2][2];
int n;char __nv_no_debug_dummy_end_padding_0[4];};
struct PArr {
float (*p)[4];
float (*__restrict__ q[3])[4];
int n;char __nv_no_debug_dummy_end_padding_0[4];};
struct Fns {
void (*f)(int);
void (*g[4])(int);
Fn h[2];
int n;char __nv_no_debug_dummy_end_padding_0[4];};
struct Deep {
void (*(*q[2])[3])(int);
int (*fp)(int (*)(int));};
struct Vol {
float *volatile p;
volatile float *volatile q;
int n;char __nv_no_debug_dummy_end_padding_0[4];};
struct Refs {
float *__restrict__ *b;
CP cp;
Row *rp;
Row r[2];};
struct Nest {
union  {
float f;
int *__restrict__ i;};};
struct Wide {
unsigned long long wide;
int n;char __nv_no_debug_dummy_end_padding_0[12];};
struct Packed {
char c;
int i;} __attribute__((__packed__));
struct Mixed {
char c;
int x __attribute__((__packed__));
int y;};
struct Al {
float v[5];char __nv_no_debug_dummy_end_padding_0[12];} __attribute__((__aligned__(32)));
#pragma pack(2)
struct Pair {
char c;
double d;};
#pragma pack()
struct Free {
char c;
double d;};
";

    /// Text and size of the type of a variable that is declared so.
    fn variable(declaration: &str) -> (String, Option<u64>) {
        let declaration = declaration.replace("NAME", "__cuda_local_var_40_9_non_const_v");
        let text = format!("{TYPES}# 3 \"t.cu\"\n__global__ void _Z1kv(\nint n){{\n{{\n {declaration};\n}}}}\n");
        let front_end = FrontEnd::parse(&text);
        let [only] = front_end.of("_Z1kv") else { panic!("{declaration}") };
        (only.type_text.clone(), only.bytes)
    }

    /// The sizes are those that nvcc's `sizeof` has for the types.
    #[test]
    fn structures_have_the_size_of_the_compiler() {
        for (name, bytes) in [
            ("Plain", Some(24)),
            ("Arr", Some(80)),
            ("PArr", Some(40)),
            ("Fns", Some(64)),
            ("Deep", Some(24)),
            ("Vol", Some(24)),
            ("Refs", Some(56)),
            ("Nest", Some(8)),
            ("Packed", Some(5)),
            ("Mixed", Some(12)),
            ("Al", Some(32)),
            ("Pair", Some(10)),
            ("Free", Some(16)),
            // The file does not show that `wide` has 16 B, but the padding does not fit 8.
            ("Wide", None),
        ] {
            assert_eq!(variable(&format!("struct {name} NAME")), (name.to_string(), bytes), "{name}");
        }
    }

    #[test]
    fn variables_of_all_declarators_have_their_size() {
        for (declaration, text, bytes) in [
            ("float *__restrict__ NAME", "float *", Some(8)),
            ("float *__restrict__ NAME[3]", "float *[3]", Some(24)),
            ("float *__restrict__ *NAME", "float **", Some(8)),
            ("const float *const *volatile NAME", "float **volatile", Some(8)),
            ("volatile float *NAME", "float *", Some(8)),
            ("float (*NAME)[4]", "float (*)[4]", Some(8)),
            ("float (*__restrict__ NAME)[4]", "float (*)[4]", Some(8)),
            ("void (*NAME)(int)", "void (*)(int)", Some(8)),
            ("void (*NAME[3])(int)", "void (*[3])(int)", Some(24)),
            ("void (*(*NAME)[3])(int)", "void (*(*)[3])(int)", Some(8)),
            ("float NAME[5] __attribute__((__aligned__(32)))", "float[5]", Some(20)),
            ("Row NAME", "Row", Some(16)),
            ("Row NAME[3]", "Row[3]", Some(48)),
            ("CP NAME", "CP", Some(8)),
            ("Fn NAME[2]", "Fn[2]", Some(16)),
            ("Function *NAME", "Function *", Some(8)),
            ("struct Nowhere NAME", "Nowhere", None),
            ("struct Nowhere *__restrict__ NAME", "Nowhere *", Some(8)),
        ] {
            assert_eq!(variable(declaration), (text.to_string(), bytes), "{declaration}");
        }
    }

    #[test]
    fn members_behind_pointers_have_names() {
        let text = format!(
            "{TYPES}# 3 \"t.cu\"\n__global__ void _Z1kv(\nint n){{\n{{\n struct PArr __cuda_local_var_40_9_non_const_v;\n}}}}\n"
        );
        let front_end = FrontEnd::parse(&text);
        let members = front_end.of("_Z1kv")[0].members.iter();
        let rows: Vec<_> = members.map(|one| (one.path.as_str(), one.offset, one.type_text.as_str())).collect();
        assert_eq!(rows, [("p", 0, "float (*)[4]"), ("q", 8, "float (*[3])[4]"), ("n", 32, "int")]);
    }
}
