//! The local variables of every function as laid out by nvcc's front end, from the `.cudafe1.gpu` file that `--keep`
//! keeps.
//!
//! NVIDIA does not document the format. The file is C with line markers (`# 8 "a.cu"`), with one copy of a function for
//! each template instance. A local variable is named `__cuda_local_var_42206_5_non_const_window` there: a number, the
//! column of its name, and the name. Its line is that of the preceding marker. Structures keep their members; bases
//! appear as members.

mod declarator;
mod types;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use nv_code::unescape_path;

use types::{Types, without_attributes};

const LOCAL: &str = "__cuda_local_var_";

/// How names of temporaries begin: `struct Eight __T6;`.
const TEMPORARY: &str = "__T";

/// Attribute names before a parenthesis, which are not functions.
const ATTRIBUTES: [&str; 8] = [
    "___device__",
    "__attribute__",
    "__launch_bounds__",
    "__maxnreg__",
    "__cluster_dims__",
    "__block_size__",
    "__annotate__",
    "__declspec",
];

/// Local variables by the mangled name of the function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrontEnd {
    pub functions: BTreeMap<String, Vec<FrontEndVariable>>,
}

/// A local variable of a function instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrontEndVariable {
    pub name: String,
    pub file: String,
    pub line: u32,
    /// Column of the name, in bytes from 1.
    pub column: u32,
    /// `float[32]`, `Ring<float, 32>`
    pub type_text: String,
    /// The size; `None` if the file does not define the type.
    pub bytes: Option<u64>,
    /// For a structure, its members by path, nested members included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<FrontEndMember>,
    /// Whether it is a reference to a temporary, `const Eight &o = load(p);`. Type, size and members are those of the temporary.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_temporary: bool,
    /// Whether the value is `volatile`, or the elements are; not what a pointer leads to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_volatile: bool,
}

/// A member of a structure: `key`, or `inner.key` for a nested structure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrontEndMember {
    pub path: String,
    /// Offset from the start of the variable.
    pub offset: u64,
    pub bytes: u64,
    pub type_text: String,
}

/// The length of the shortest array within a variable.
fn inner_length(variable: &FrontEndVariable) -> Option<u32> {
    let lengths = |type_text: &str| -> Vec<u32> {
        // The array behind a pointer is no part of the variable.
        let own = if type_text.contains("(*") { "" } else { type_text };
        own.split('[').skip(1).filter_map(|extent| extent.split(']').next()?.trim().parse().ok()).collect()
    };
    let own = lengths(&variable.type_text);
    let nested = if own.len() > 1 { own } else { Vec::new() };
    let members = variable.members.iter().flat_map(|member| lengths(&member.type_text));
    nested.into_iter().chain(members).filter(|length| *length > 0).min()
}

impl FrontEnd {
    /// By function, the length of the shortest array within one of its variables: in another array, or in a structure.
    pub fn inner_lengths(&self) -> BTreeMap<&str, u32> {
        let shortest = |variables: &[FrontEndVariable]| variables.iter().filter_map(inner_length).min();
        let all = self.functions.iter().map(|(name, variables)| (name.as_str(), shortest(variables)));
        all.filter_map(|(name, length)| Some((name, length?))).collect()
    }

    /// Parses a file; lines that are not understood are skipped.
    pub fn parse(text: &str) -> Self {
        let mut reader = Reader::default();
        text.lines().for_each(|line| reader.line(line));
        Self { functions: reader.functions }
    }

    /// All variables of a function instance.
    pub fn of(&self, function: &str) -> &[FrontEndVariable] {
        self.functions.get(function).map_or(&[], Vec::as_slice)
    }

    /// The variable with a name declared on a line of a function. If the function is unknown, all functions with such a
    /// variable must agree on its type and size. Columns are useless here: they refer to the preprocessed text.
    pub fn variable(&self, function: Option<&str>, file: &Path, line: u32, name: &str) -> Option<&FrontEndVariable> {
        let is_here = |variable: &&FrontEndVariable| {
            variable.line == line && variable.name == name && same_file(&variable.file, file)
        };
        if let Some(variables) = function.and_then(|name| self.functions.get(name)) {
            return variables.iter().find(is_here);
        }
        let mut all = self.functions.values().flatten().filter(is_here);
        let first = all.next()?;
        all.all(|other| other.type_text == first.type_text && other.bytes == first.bytes).then_some(first)
    }
}

/// Compares file names only. The path in the file is as written on the command line or in an `#include`: with `..`,
/// relative, or from the machine that made a cached result. The variable's line and name must match too, so this is
/// enough.
fn same_file(one: &str, other: &Path) -> bool {
    Path::new(one).file_name() == other.file_name()
}

#[derive(Default)]
struct Reader {
    functions: BTreeMap<String, Vec<FrontEndVariable>>,
    types: Types,
    file: String,
    line: u32,
    function: Option<String>,
    /// Types of the function's temporaries, by name.
    temporaries: BTreeMap<String, String>,
    /// The structure being parsed.
    structure: Option<String>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if let Some(mark) = line.strip_prefix("# ") {
            return self.mark(mark);
        }
        if line.starts_with("#pragma") {
            return self.types.pack(line);
        }
        let line = line.trim();
        if let Some(text) = &mut self.structure {
            text.push(' ');
            text.push_str(line);
            return self.end_structure();
        }
        let word = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
        match word {
            "struct" | "union" | "class" if opens_structure(line) => {
                self.structure = Some(line.to_string());
                self.end_structure();
            }
            "typedef" => self.types.define_name(line),
            "enum" if line.contains('{') => self.types.define_enum(line),
            _ if line.starts_with(LOCAL) => self.initialization(line),
            _ if line.contains(LOCAL) => self.local(line),
            // `static`, `__launch_bounds__(256)` and other attributes may stand before these words,
            // and a function that returns a class has a temporary as its first parameter.
            _ if !line.ends_with(';') && (line.contains("__global__") || line.contains("___device__")) => {
                self.function = called(line);
                self.temporaries.clear();
            }
            _ if line.contains(TEMPORARY) => self.temporary(line.trim_start_matches(['{', ' '])),
            _ => {}
        }
    }

    fn mark(&mut self, mark: &str) {
        let Some((number, rest)) = mark.split_once(' ') else { return };
        let Ok(number) = number.parse() else { return };
        self.line = number;
        if let Some(path) = rest.split('"').nth(1).filter(|path| self.file != *path) {
            self.file = unescape_path(path);
        }
    }

    /// Ends the current structure, if its braces are balanced.
    fn end_structure(&mut self) {
        let is_done = self.structure.as_ref().is_some_and(|text| {
            text.matches('{').count() <= text.matches('}').count() && text.trim_end().ends_with(';')
        });
        if let Some(text) = self.structure.take_if(|_| is_done) {
            self.types.define_structure(&text);
        }
    }

    /// Parses `struct Eight __T6;`; other lines only use a temporary.
    fn temporary(&mut self, line: &str) {
        let Some((head, name)) = line.trim_end_matches(';').rsplit_once(' ') else { return };
        let is_head =
            head.starts_with("struct ") && head.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' '));
        if is_head && line.ends_with(';') && is_temporary(name) {
            self.temporaries.insert(name.to_string(), head.to_string());
        }
    }

    /// Parses `__cuda_local_var_36676_22_non_const_o = ((__T1 = (…)) , (&__T1));`: a reference is initialized with a temporary.
    fn initialization(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(" = ") else { return };
        let Some((column, name)) = local_name(&name[LOCAL.len()..]) else { return };
        let value = value.trim_end_matches([';', ')']);
        let Some((_, temporary)) = value.rsplit_once('&').filter(|(_, name)| is_temporary(name)) else { return };
        let is_made = value.contains(&format!("({temporary} = "));
        let Some(head) = self.temporaries.get(temporary).filter(|_| is_made) else { return };
        let variables = self.function.as_ref().and_then(|function| self.functions.get_mut(function));
        let is_it = |variable: &&mut FrontEndVariable| variable.column == column && variable.name == name;
        let variable = variables.into_iter().flatten().rev().find(is_it);
        if let Some(variable) = variable.filter(|variable| variable.type_text.ends_with('*')) {
            let declared = self.types.declared(head, "");
            variable.members = self.types.members(head, "");
            variable.bytes = declared.bytes();
            variable.type_text = declared.text;
            variable.is_temporary = true;
        }
    }

    /// Parses a declaration of a local variable; other lines only use the name.
    fn local(&mut self, line: &str) {
        let Some(at) = line.find(LOCAL) else { return };
        let Some(function) = &self.function else { return };
        let (head, rest) = (line[..at].trim(), &line[at + LOCAL.len()..]);
        let is_declaration = head.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && line.ends_with(';')
            && head.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '*' | '('))
            // `float (*rows)[4]`, and not a call of a function with the variable.
            && head.split_once('(').is_none_or(|(before, behind)| before.ends_with(' ') && behind.starts_with('*'))
            && !matches!(head.split([' ', '(']).next(), Some("return" | "if" | "while" | "switch" | "for"))
            && !head.contains("__shared__");
        if !is_declaration {
            return;
        }
        let Some((column, name)) = local_name(rest) else { return };
        let behind = rest.split_once("const_").and_then(|(_, rest)| rest.strip_prefix(name.as_str())).unwrap_or("");
        let behind = without_attributes(behind.trim_end_matches(';'));
        let declared = self.types.declared(head, &behind);
        self.functions.entry(function.clone()).or_default().push(FrontEndVariable {
            members: self.types.members(head, &behind),
            name,
            file: self.file.clone(),
            line: self.line,
            column,
            bytes: declared.bytes(),
            type_text: declared.text,
            is_temporary: false,
            is_volatile: !head.contains('*') && head.split_whitespace().any(|word| word == "volatile"),
        });
    }
}

/// Column and name of a local variable: 22 and `o` for `36676_22_non_const_o = …`.
fn local_name(text: &str) -> Option<(u32, String)> {
    let mut parts = text.splitn(3, '_');
    let (_, column, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let rest = rest.strip_prefix("non_const_").or_else(|| rest.strip_prefix("const_"))?;
    Some((column.parse().ok()?, rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()))
}

fn is_temporary(name: &str) -> bool {
    let number = name.strip_prefix(TEMPORARY).unwrap_or("");
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a line that begins with `struct` begins a definition. The last parameter of a function may be a structure too,
/// and its line ends with the brace of the body: `struct CUstream_st *stream){`.
fn opens_structure(line: &str) -> bool {
    line.split_once('{').is_some_and(|(head, _)| !without_attributes(head).contains(['(', ')', '*', '=']))
}

/// The function name before the parameters of a definition.
fn called(line: &str) -> Option<String> {
    let mut rest = line;
    loop {
        let open = rest.find('(')?;
        let before = rest[..open].trim_end();
        let start = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_' || c == '$').len();
        let name = &before[start..];
        if !name.is_empty() && !ATTRIBUTES.contains(&name) {
            return Some(name.to_string());
        }
        rest = &rest[open + closing(&rest[open..])?..];
    }
}

/// Length up to and including the parenthesis that closes the first one.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::types::{last_part, readable};
    use super::*;

    const TEXT: &str = r#"typedef char __nv_bool;
typedef struct __half2 half2;
# 3 "t.cu"
struct _Z4RingIfLi32EE {
# 3 "t.cu"
float slot[32];
# 3 "t.cu"
int head;};
struct Base {
int tag;
double w[3];};
struct Vec {
float x;
float y;
float z;char __nv_no_debug_dummy_end_padding_0[4];} __attribute__((__aligned__(16)));
struct Der { const long *__vptr; struct Base __b_4Base;
struct Vec v[2];
unsigned int a: 3;
unsigned int b: 5;
__nv_bool f;
union  {
float u;
int n[2];};};
# 7 "t.cu"
__global__ __var_used__ void _Z4meanIfLi32EEvPKT_PS0_i(
# 7 "t.cu"
const float *in, 
int n){
{
# 8 "t.cu"
 float __cuda_local_var_42206_5_non_const_window[32];
# 9 "t.cu"
 struct _Z4RingIfLi32EE __cuda_local_var_42207_14_non_const_ring;
# 10 "t.cu"
 volatile short __cuda_local_var_42200_20_non_const_vs[5];
 struct Der __cuda_local_var_42202_85_non_const_d;
 int (*__cuda_local_var_42202_63_non_const_pa)[4];
 float4 __cuda_local_var_42202_99_const_q[2];
((__cuda_local_var_42206_5_non_const_window)[n]) = (0.0F);
# 11 "t.cu"
return __cuda_local_var_42206_5_non_const_window;
}}
"#;

    #[test]
    fn a_type_of_a_function_has_its_own_name() {
        assert_eq!(readable("_ZZ11closest_hitPKfPfiE5Entry"), "Entry");
        assert_eq!(readable("_Z4RingIfLi32EE"), "Ring<float, 32>");
        assert_eq!(last_part("pick<a::b>(c::d)::Pair<a::b, 2>"), "Pair<a::b, 2>");
        assert_eq!(last_part("a::b"), "b");
    }

    #[test]
    fn a_reference_to_a_temporary_is_the_temporary() {
        let text = r#"struct Eight {
double t[8];};
# 4 "t.cu"
__global__ __var_used__ void _Z4flipPi(
int *out){
{  struct Eight __T1;
 const int *__T0;
 struct Eight __T2;
# 6 "t.cu"
 const struct Eight *__cuda_local_var_36676_22_non_const_o;
 struct Eight *__cuda_local_var_36680_17_non_const_y;
 const struct Eight *__cuda_local_var_36678_22_non_const_q;
__cuda_local_var_36676_22_non_const_o = ((__T1 = (((__T0 = out) , (_Z4loadPi(__T0))))) , (((const struct Eight *)&__T1)));
__cuda_local_var_36680_17_non_const_y = ((__T2 = (_Z4loadPi(out))) , (&__T2));
__cuda_local_var_36678_22_non_const_q = (_Z4passRK5Eight((((const struct Eight *)&__cuda_local_var_36677_15_non_const_own))));
}}
"#;
        let front_end = FrontEnd::parse(text);
        let row = |variable: &FrontEndVariable| {
            (variable.name.clone(), variable.type_text.clone(), variable.bytes, variable.is_temporary)
        };
        let rows: Vec<_> = front_end.functions["_Z4flipPi"].iter().map(row).collect();
        let eight = |name: &str| (name.to_string(), "Eight".to_string(), Some(64), true);
        assert_eq!(rows[..2], [eight("o"), eight("y")]);
        assert_eq!((rows[2].2, rows[2].3), (Some(8), false));
        let front_end = FrontEnd::parse(&text.replace("(__T1 = (", "(__T3 = ("));
        assert!(!front_end.functions["_Z4flipPi"][0].is_temporary);
    }

    #[test]
    fn variables_have_place_type_and_size() {
        let front_end = FrontEnd::parse(TEXT);
        let variables = &front_end.functions["_Z4meanIfLi32EEvPKT_PS0_i"];
        let row = |variable: &FrontEndVariable| (variable.name.clone(), variable.type_text.clone(), variable.bytes);
        let text = |name: &str, type_text: &str, bytes| (name.to_string(), type_text.to_string(), bytes);
        assert_eq!(
            variables.iter().map(row).collect::<Vec<_>>(),
            [
                text("window", "float[32]", Some(128)),
                text("ring", "Ring<float, 32>", Some(132)),
                text("vs", "short[5]", Some(10)),
                text("d", "Der", Some(96)),
                text("pa", "int (*)[4]", Some(8)),
                text("q", "float4[2]", Some(32)),
            ]
        );
        assert_eq!((variables[0].line, variables[0].column, variables[0].file.as_str()), (8, 5, "t.cu"));
        assert!(front_end.variable(None, Path::new("/src/t.cu"), 8, "window").is_some());
        assert!(front_end.variable(None, Path::new("/src/t.cu"), 9, "window").is_none());
    }

    #[test]
    fn members_have_paths_and_offsets() {
        let front_end = FrontEnd::parse(TEXT);
        let variables = &front_end.functions["_Z4meanIfLi32EEvPKT_PS0_i"];
        let slot = &variables[1].members[0];
        assert_eq!(
            (slot.path.as_str(), slot.offset, slot.bytes, slot.type_text.as_str()),
            ("slot", 0, 128, "float[32]")
        );
        let weights = variables[3].members.iter().find(|member| member.path == "w").unwrap();
        assert_eq!((weights.offset, weights.bytes), (16, 24));
        let of_union = variables[3].members.iter().find(|member| member.path == "n").unwrap();
        assert_eq!((of_union.offset, of_union.bytes, of_union.type_text.as_str()), (84, 8, "int[2]"));
    }

    #[test]
    fn functions_are_told_from_attributes() {
        for (line, name) in [
            ("__global__ __attribute__((visibility(\"x\"))) void plain(int n){", Some("plain")),
            ("___device__(static  __no_sc__) __inline__ float _Z6helperPKii(", Some("_Z6helperPKii")),
            ("___device__(static", None),
        ] {
            assert_eq!(called(line).as_deref(), name, "{line}");
        }
    }

    #[test]
    fn attributes_may_stand_before_a_function() {
        let kernel = "__global__ __var_used__ void";
        for head in [
            "__launch_bounds__(256) __global__ __var_used__ static void",
            "__attribute__((visibility(\"x\"))) __launch_bounds__(128, 2) __global__ void",
            "static __inline__ ___device__(static  __no_sc__) void",
        ] {
            let front_end = FrontEnd::parse(&TEXT.replace(kernel, head));
            assert_eq!(front_end.functions, FrontEnd::parse(TEXT).functions, "{head}");
        }
    }

    #[test]
    fn functions_that_return_a_class_have_variables() {
        let text = "struct V3 {\nfloat x;\nfloat y;};\n# 8 \"t.cu\"\n___device__(static  __no_sc__) __inline__ void _ZmlRK2V3f( struct V3 *__T0, \n\
                    const struct V3 *l, \nfloat f){\n# 9 \"t.cu\"\n{\n struct V3 __cuda_local_var_36679_74_non_const_r;\n}}\n";
        let front_end = FrontEnd::parse(text);
        let [found] = front_end.of("_ZmlRK2V3f") else { panic!("{front_end:?}") };
        assert_eq!((found.name.as_str(), found.bytes), ("r", Some(8)));
    }

    #[test]
    fn calls_with_a_variable_declare_nothing() {
        for statement in
            ["_Z5touchPf((__cuda_local_var_1_2_non_const_a), 4);", "if ((__cuda_local_var_1_2_non_const_a)[0]) return;"]
        {
            let front_end = FrontEnd::parse(&TEXT.replace("# 11 \"t.cu\"", statement));
            assert_eq!(front_end.functions, FrontEnd::parse(TEXT).functions, "{statement}");
        }
    }

    #[test]
    fn a_parameter_that_is_a_structure_begins_no_definition() {
        let before = "# 1 \"t.cu\"\n___device__(static  __no_sc__) __inline__ void _Z4copyP4Pair(\n\
                      struct Pair *__restrict__ to, \nstruct Pair from){\n{ \n(*to) = from;\n}}\n";
        let aligned = "struct __attribute__((__aligned__(8))) Pair {\nint a;\nint b;};\n";
        let front_end = FrontEnd::parse(&format!("{aligned}{before}{TEXT}"));
        assert_eq!(front_end.functions, FrontEnd::parse(TEXT).functions);
        assert_eq!(front_end.of("_Z4meanIfLi32EEvPKT_PS0_i")[1].bytes, Some(132));
    }

    #[test]
    fn nonsense_is_skipped() {
        for text in
            ["struct {", "struct A {}}};", "# x", "typedef", "enum", "__cuda_local_var_", "struct A { struct A a; };"]
        {
            FrontEnd::parse(text);
        }
    }

    #[test]
    fn arrays_within_variables_have_lengths() {
        let variable = |type_text: &str, members: &[&str]| FrontEndVariable {
            is_temporary: false,
            is_volatile: false,
            name: "v".into(),
            file: "t.cu".into(),
            line: 1,
            column: 1,
            type_text: type_text.into(),
            bytes: None,
            members: members
                .iter()
                .map(|text| FrontEndMember { path: "m".into(), offset: 0, bytes: 0, type_text: text.to_string() })
                .collect(),
        };
        assert_eq!(inner_length(&variable("float[32]", &[])), None);
        assert_eq!(inner_length(&variable("float[3][5]", &[])), Some(3));
        assert_eq!(inner_length(&variable("Ring<float, 32>", &["float[32]", "int"])), Some(32));
        assert_eq!(inner_length(&variable("Point", &["float", "float"])), None);
        let plain = vec![variable("float[32]", &[])];
        let nested = vec![variable("float[9]", &[]), variable("float[4][8]", &[]), variable("S", &["int[7]"])];
        let front_end = FrontEnd { functions: [("a".into(), plain), ("b".into(), nested)].into() };
        assert_eq!(front_end.inner_lengths(), BTreeMap::from([("b", 4)]));
    }
}
