//! What the PTX stores into an object: constants, a copy of a kernel parameter, or data.
//!
//! A store speaks for itself; where one may be hidden (an address that leaves to code that is not seen) nothing is
//! said.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cuda_syntax::tree::ParameterSyntax;
use cuda_syntax::{ViewId, Views};
use lmem_base::source::Span;
use nv_code::dataflow::{Flow, Root, parameter_number};
use nv_code::{AddressOperand, Instruction, PtxFunction, PtxModule, UnitFacts};

use super::access::{Contents, EscapeKind, ObjectKey, Parameter, ParameterCopy, RawObject};
use super::escape::{self, CallSites};
use crate::place::{Place, places};

/// Definitions that are followed to find out what a stored value is.
const MAX_DEPTH: usize = 32;

/// One value that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Number(u64),
    /// An address that the linker fills in.
    Symbol(String),
    /// Constant memory, which no kernel changes.
    Memory {
        symbol: String,
        offset: i64,
    },
    /// The result of instructions on constants, which is one itself.
    Expression(String),
    /// Bytes of a kernel parameter; the offset is open where a loop copies.
    Parameter {
        number: usize,
        offset: Option<i64>,
    },
    Data,
}

/// A store to an object; a vector is several of them.
struct Store {
    /// Offset in the object; `None` where the address is computed.
    at: Option<u64>,
    bytes: u64,
    value: Value,
    places: Vec<Place>,
    /// In a function that was given the address.
    in_callee: bool,
}

/// Tells the contents of all objects.
pub fn fill(
    module: &PtxModule,
    flows: &HashMap<&str, Flow<'_>>,
    calls: &CallSites,
    views: &Views<'_>,
    objects: &mut BTreeMap<ObjectKey, RawObject>,
) {
    let mut stores: BTreeMap<ObjectKey, Vec<Store>> = BTreeMap::new();
    let mut has_unplaced = false;
    let mut names: Vec<&&str> = flows.keys().collect();
    names.sort();
    for name in names {
        let flow = &flows[*name];
        let all = flow.function.instructions.iter().enumerate();
        for (index, instruction) in all.filter(|(_, instruction)| may_store_locally(instruction)) {
            let Some(address) = instruction.address() else { continue };
            let pointer = flow.pointer(&address, index);
            let owners = escape::owners(flow, &pointer.roots, calls, flows);
            let is_known = !pointer.roots.is_empty() && !pointer.roots.contains(&Root::Unknown);
            has_unplaced |= instruction.has("local") && !is_known;
            let is_one = owners.len() == 1 && pointer.roots.iter().all(|root| matches!(root, Root::Local { .. }));
            for owner in owners {
                let distance = pointer.offset.filter(|_| is_one).and_then(|offset| u64::try_from(offset).ok());
                let wanted = ObjectKey { offset: owner.offset + distance.unwrap_or(0), ..owner };
                let Some(key) = holder(objects, &wanted) else { continue };
                let at = distance.map(|_| wanted.offset - key.offset);
                let places = places(views, module, flow.function, instruction.location);
                let store = Store { at, bytes: 0, value: Value::Data, places, in_callee: wanted.function != **name };
                stores.entry(key).or_default().extend(stored(flow, index, &store));
            }
        }
    }
    for (key, stores) in stores {
        if let Some(object) = objects.get_mut(&key) {
            let is_hidden = has_unplaced || object.escapes.iter().any(|escape| may_write_unseen(&escape.kind, flows));
            object.contents = summary(&stores, is_hidden, views);
        }
    }
}

/// The object that an offset lies in.
fn holder(objects: &BTreeMap<ObjectKey, RawObject>, wanted: &ObjectKey) -> Option<ObjectKey> {
    let (key, object) = objects.range(..=wanted).next_back()?;
    let is_inside = key.function == wanted.function
        && key.variable == wanted.variable
        && wanted.offset < key.offset + object.bytes.max(1);
    is_inside.then(|| key.clone())
}

fn may_store_locally(instruction: &Instruction) -> bool {
    instruction.mnemonic() == "st" && !["global", "shared", "param", "const"].iter().any(|space| instruction.has(space))
}

/// The store of each element; `start` is that of the first, without its value.
fn stored(flow: &Flow<'_>, at: usize, start: &Store) -> Vec<Store> {
    let instruction = &flow.function.instructions[at];
    let bytes = instruction.element_bytes().unwrap_or(0);
    let operands = instruction.operands.get(1).map_or("", String::as_str);
    let store = |(index, operand)| Store {
        at: start.at.filter(|_| bytes > 0).map(|at| at + index as u64 * bytes),
        bytes,
        value: value(flow, operand, at, &mut Vec::new()),
        places: start.places.clone(),
        in_callee: start.in_callee,
    };
    elements(operands).enumerate().map(store).collect()
}

/// `%r1`, or the parts of `{%r1, %r2}`.
fn elements(operand: &str) -> impl Iterator<Item = &str> {
    operand.trim_matches(['{', '}']).split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// What a register or an immediate holds where instruction `at` reads it; several definitions must agree.
fn value(flow: &Flow<'_>, operand: &str, at: usize, visiting: &mut Vec<usize>) -> Value {
    if let Some(number) = number(operand) {
        return Value::Number(number);
    }
    if !operand.starts_with('%') {
        return if is_symbol(flow, operand) { Value::Symbol(operand.to_string()) } else { Value::Data };
    }
    let definitions = flow.definitions(operand, at);
    let mut values = definitions.iter().map(|definition| defined(flow, *definition, operand, visiting));
    let first = values.next().unwrap_or(Value::Data);
    if values.all(|other| other == first) { first } else { Value::Data }
}

fn defined(flow: &Flow<'_>, at: usize, register: &str, visiting: &mut Vec<usize>) -> Value {
    if visiting.len() > MAX_DEPTH || visiting.contains(&at) {
        return Value::Data;
    }
    visiting.push(at);
    let value = computed(flow, at, register, visiting);
    visiting.pop();
    value
}

fn computed(flow: &Flow<'_>, at: usize, register: &str, visiting: &mut Vec<usize>) -> Value {
    let definition = &flow.function.instructions[at];
    let operand = |index: usize| definition.operands.get(index).map_or("", String::as_str);
    let is_vector = operand(0).starts_with('{');
    match definition.mnemonic() {
        "mov" if !is_vector && !operand(1).starts_with('{') => value(flow, operand(1), at, visiting),
        "cvta" => value(flow, operand(1), at, visiting),
        "ld" if definition.has("param") && flow.function.is_entry => loaded_parameter(flow, at, register),
        "ld" if definition.has("const") => loaded_constant(definition, register),
        mnemonic if is_arithmetic(mnemonic) && definition.guard.is_none() => {
            let operands = definition.operands.iter().skip(1).flat_map(|operand| elements(operand));
            let terms: Option<Vec<String>> = operands
                .map(|operand| match value(flow, operand, at, visiting) {
                    Value::Number(number) => Some(number.to_string()),
                    Value::Symbol(text) | Value::Expression(text) => Some(text),
                    Value::Memory { .. } | Value::Parameter { .. } | Value::Data => None,
                })
                .collect();
            // Which part of a vector it is tells it from the others.
            let part = elements(operand(0)).position(|part| part == register).unwrap_or(0);
            terms.map_or(Value::Data, |terms| {
                Value::Expression(format!("{}.{part} {}", definition.opcode, terms.join(" ")))
            })
        }
        _ => Value::Data,
    }
}

/// Whether a name is that of a function or of a variable of the module. Inline assembly has registers with names like
/// these, which instructions write to.
fn is_symbol(flow: &Flow<'_>, name: &str) -> bool {
    let is_local = flow.function.local_variables.iter().any(|variable| variable.name == name);
    let is_written = |instruction: &Instruction| {
        let target = instruction.operands.first().filter(|_| instruction.mnemonic() != "call");
        target.is_some_and(|target| elements(target).any(|part| part == name))
    };
    !name.is_empty()
        && !is_local
        && parameter_number(name).is_none()
        && !flow.function.instructions.iter().any(is_written)
}

/// Instructions whose result depends on their operands alone.
fn is_arithmetic(mnemonic: &str) -> bool {
    matches!(
        mnemonic,
        "mov"
            | "add"
            | "sub"
            | "mul"
            | "mad"
            | "fma"
            | "neg"
            | "abs"
            | "and"
            | "or"
            | "xor"
            | "not"
            | "shl"
            | "shr"
            | "shf"
            | "prmt"
            | "bfi"
            | "bfe"
            | "lop3"
            | "cvt"
            | "min"
            | "max"
            | "div"
            | "rem"
            | "sqrt"
            | "rsqrt"
            | "rcp"
            | "ex2"
            | "lg2"
    )
}

/// `ld.param.v2.u32 {%r1, %r2}, [_Z1kv_param_0+8]`, or through a register where a loop copies.
fn loaded_parameter(flow: &Flow<'_>, at: usize, register: &str) -> Value {
    let load = &flow.function.instructions[at];
    let Some(AddressOperand { base, offset }) = load.address() else { return Value::Data };
    let index = load.operands.first().and_then(|operand| elements(operand).position(|part| part == register));
    let part = index.zip(load.element_bytes()).map(|(index, bytes)| index as i64 * bytes as i64);
    if let Some(number) = parameter_number(&base) {
        return Value::Parameter { number, offset: part.map(|part| offset + part) };
    }
    match pointed_parameter(flow, &base, at) {
        Some(number) => Value::Parameter { number, offset: None },
        None => Value::Data,
    }
}

/// `ld.const.u32 %r1, [table+8]`
fn loaded_constant(load: &Instruction, register: &str) -> Value {
    let element = load.operands.first().and_then(|operand| elements(operand).position(|part| part == register));
    let address = load.address().filter(|address| !address.base.starts_with('%') && !address.base.is_empty());
    match (address, element, load.element_bytes()) {
        (Some(address), Some(index), Some(bytes)) => {
            Value::Memory { symbol: address.base, offset: address.offset + index as i64 * bytes as i64 }
        }
        _ => Value::Data,
    }
}

/// The parameter whose address a register holds or moves through.
fn pointed_parameter(flow: &Flow<'_>, register: &str, at: usize) -> Option<usize> {
    let mut seen = BTreeSet::new();
    let mut open = vec![(register.to_string(), at)];
    let mut found = None;
    while let Some((register, at)) = open.pop() {
        if let Some(number) = parameter_number(&register) {
            if found.is_some_and(|known| known != number) {
                return None;
            }
            found = Some(number);
            continue;
        }
        for definition in flow.definitions(&register, at).iter() {
            let instruction = &flow.function.instructions[*definition];
            // Of a sum the parameter's address is one term, an index the other.
            let is_followed = matches!(instruction.mnemonic(), "mov" | "add" | "cvta");
            if is_followed && seen.len() < MAX_DEPTH && seen.insert(*definition) {
                open.extend(instruction.operands.iter().skip(1).map(|operand| (operand.clone(), *definition)));
            }
        }
    }
    found
}

/// Bits of an immediate: `12`, `-1`, `0x1F`, `0f3F800000`, `0d3FF0000000000000`.
fn number(operand: &str) -> Option<u64> {
    if let Some(bits) = operand.strip_prefix("0f").or_else(|| operand.strip_prefix("0F")) {
        return u64::from_str_radix(bits, 16).ok();
    }
    if let Some(bits) = operand.strip_prefix("0d").or_else(|| operand.strip_prefix("0D")) {
        return u64::from_str_radix(bits, 16).ok();
    }
    if let Ok(number) = operand.trim_end_matches('U').parse::<u64>() {
        return Some(number);
    }
    nv_code::dataflow::flow::operands::constant(operand).map(i64::cast_unsigned)
}

fn summary(stores: &[Store], is_hidden: bool, views: &Views<'_>) -> Contents {
    if let Some(copy) = parameter_copy(stores, is_hidden, views) {
        return Contents::Parameter(copy);
    }
    let has_data =
        stores.iter().any(|store| store.at.is_none() || matches!(store.value, Value::Data | Value::Parameter { .. }));
    match !has_data && !is_hidden && (agree(stores.iter()) || is_several_tables(stores, views)) {
        true => Contents::Constants {
            is_computed: stores.iter().any(|store| matches!(store.value, Value::Expression(_))),
            copied_from: copied_from(stores),
        },
        false => Contents::Data,
    }
}

/// The variable in constant memory that all values come from.
fn copied_from(stores: &[Store]) -> Option<String> {
    let symbol = |store: &Store| match &store.value {
        Value::Memory { symbol, .. } => Some(symbol.clone()),
        _ => None,
    };
    let first = symbol(stores.first()?)?;
    stores.iter().all(|store| symbol(store).as_ref() == Some(&first)).then_some(first)
}

/// Whether code may write through an address that left, in a way that no store of the PTX shows.
fn may_write_unseen(kind: &EscapeKind, flows: &HashMap<&str, Flow<'_>>) -> bool {
    match kind {
        EscapeKind::Call(name) => !flows.contains_key(name.as_str()),
        EscapeKind::IndirectCall | EscapeKind::Stored => true,
        EscapeKind::Generic(opcode) => !matches!(opcode.split('.').next(), Some("ld" | "st")),
    }
}

/// One byte of a value.
#[derive(PartialEq, Eq)]
enum Byte<'a> {
    Literal(u8),
    Of(&'a str, u64),
}

/// Whether no byte is ever given two different constants.
fn agree<'a>(stores: impl Iterator<Item = &'a Store>) -> bool {
    let mut known: BTreeMap<u64, Byte<'a>> = BTreeMap::new();
    for store in stores {
        let Some(at) = store.at else { return false };
        for index in 0..store.bytes {
            let byte = match &store.value {
                Value::Number(bits) => Byte::Literal(bits.checked_shr(8 * index as u32).unwrap_or(0) as u8),
                Value::Symbol(text) | Value::Expression(text) => Byte::Of(text, index),
                Value::Memory { symbol, offset } => Byte::Of(symbol, offset.cast_unsigned() + index),
                Value::Parameter { .. } | Value::Data => return false,
            };
            if known.insert(at + index, byte).is_some_and(|before| Some(&before) != known.get(&(at + index))) {
                return false;
            }
        }
    }
    true
}

/// Tables of branches that exclude each other may share their place; each is written by its own declaration.
fn is_several_tables(stores: &[Store], views: &Views<'_>) -> bool {
    let mut tables: BTreeMap<(ViewId, usize), Vec<&Store>> = BTreeMap::new();
    for store in stores {
        let Some(place) = store.places.first() else { return false };
        let Some(region) = place.view(views).region(place.offset).filter(|region| region.kind() == "declaration")
        else {
            return false;
        };
        tables.entry((place.view, region.start_byte())).or_default().push(store);
    }
    tables.into_values().all(|table| agree(table.into_iter()))
}

/// The parameter that most bytes come from.
fn parameter_copy(stores: &[Store], may_be_written: bool, views: &Views<'_>) -> Option<ParameterCopy> {
    let mut sources: BTreeMap<(usize, Option<i64>), u64> = BTreeMap::new();
    for store in stores {
        if let Some(source) = source(store) {
            *sources.entry(source).or_default() += store.bytes;
        }
    }
    let ((number, offset), _) = sources.into_iter().max_by_key(|(_, bytes)| *bytes)?;
    let is_copy = |store: &&Store| source(store) == Some((number, offset));
    let copied: BTreeSet<u64> = covered(stores.iter().filter(is_copy));
    let others = || stores.iter().filter(|store| !is_copy(store));
    let mut writes: Vec<Span> =
        others().filter(|store| !store.in_callee).filter_map(|store| written_at(store, views)).collect();
    writes.sort_by_key(|span| (span.file.path.clone(), span.start));
    writes.dedup();
    Some(ParameterCopy {
        number,
        parameter: None,
        offset,
        bytes: copied.len() as u64,
        is_whole: offset.is_some() && covered(others()).is_subset(&copied),
        may_be_written: may_be_written || others().any(|store| store.in_callee || written_at(store, views).is_none()),
        writes,
    })
}

fn covered<'a>(stores: impl Iterator<Item = &'a Store>) -> BTreeSet<u64> {
    stores.filter_map(|store| store.at.map(|at| at..at + store.bytes)).flatten().collect()
}

/// The parameter of a store, and how far from the object's start it lies.
fn source(store: &Store) -> Option<(usize, Option<i64>)> {
    let Value::Parameter { number, offset } = store.value else { return None };
    let distance = offset.zip(store.at).and_then(|(offset, at)| offset.checked_sub_unsigned(at));
    Some((number, distance))
}

/// The variable that a statement writes to, else the statement.
fn written_at(store: &Store, views: &Views<'_>) -> Option<Span> {
    let place = store.places.first()?;
    let region = place.view(views).region(place.offset)?;
    let mentions = place.view(views).mentions(region);
    let mut written = mentions.iter().filter(|mention| mention.is_written && mention.declaration.kind.has_parts());
    match (written.next(), written.next()) {
        (Some(only), None) => place.view(views).span(only.range.clone()),
        // The head of a function is where the compiler puts the copy itself.
        _ if region.kind() == "function_definition" => None,
        _ => place.span(views),
    }
}

/// The parameters of a kernel in order; `None` for those that the source does not tell apart.
pub fn parameters(function: &PtxFunction, facts: &UnitFacts, views: &Views<'_>) -> Vec<Option<Parameter>> {
    let location = function.locations.iter().find(|location| location.inlined_at.is_none() && location.line > 0);
    let found = location.and_then(|location| {
        let (view, line) = views.locate(facts.ptx.files.get(&location.file)?, location.line)?;
        let view = views.view(view);
        let range = view.line_range(line as usize)?;
        let list = view.parameters_at(range.end.saturating_sub(1).max(range.start));
        let list = if list.is_empty() { view.parameters_at(view.offset(line, 0)?) } else { list };
        let parameter = |syntax: ParameterSyntax| {
            let span = view.span(syntax.range)?;
            Some(Parameter { name: syntax.name, type_text: syntax.type_text, span })
        };
        Some(list.into_iter().map(parameter).collect())
    });
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(body: &str) -> PtxFunction {
        let text = format!(
            ".visible .entry k(\n.param .align 4 .b8 k_param_0[64],\n.param .u32 k_param_1\n)\n{{\n.local .align 16 .b8 \
             __local_depot0[64];\nmov.u64 %SPL, __local_depot0;\nadd.u64 %rd1, %SPL, 0;\n{body}\n}}\n"
        );
        PtxModule::parse(&text).unwrap().functions.remove(0)
    }

    /// What the stores of a body put into its only object.
    fn contents(body: &str) -> Contents {
        let function = function(body);
        let flow = Flow::new(&function);
        let mut stores = Vec::new();
        let all = function.instructions.iter().enumerate();
        for (index, instruction) in all.filter(|(_, instruction)| may_store_locally(instruction)) {
            let pointer = flow.pointer(&instruction.address().unwrap(), index);
            let at = pointer.offset.and_then(|offset| u64::try_from(offset).ok());
            let start = Store { at, bytes: 0, value: Value::Data, places: Vec::new(), in_callee: false };
            stores.extend(stored(&flow, index, &start));
        }
        summary(&stores, false, &cuda_syntax::Example::new("").views())
    }

    fn is_constant(body: &str) -> bool {
        matches!(contents(body), Contents::Constants { .. })
    }

    #[test]
    fn immediates_are_constants_in_every_width() {
        assert!(is_constant("mov.b32 %r1, 1;\nst.local.v2.u32 [%rd1], {%r1, -2};\nst.local.u64 [%rd1+8], 8589934593;"));
        assert!(is_constant("st.local.u32 [%rd1], 1;\nst.local.u32 [%rd1+4], 2;\nst.local.u64 [%rd1], 8589934593;"));
        assert!(!is_constant("st.local.u32 [%rd1], 1;\nst.local.u32 [%rd1], 2;"));
        assert!(!is_constant("ld.param.u32 %r1, [k_param_1];\nst.local.u32 [%rd1], 1;\nst.local.u32 [%rd1+4], %r1;"));
    }

    #[test]
    fn a_constant_at_a_computed_place_is_data() {
        assert!(!is_constant(
            "ld.global.u32 %r1, [%rd9];\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.local.u32 [%rd1], 1;\n\
             st.local.u32 [%rd3], 1;"
        ));
    }

    #[test]
    fn constants_of_branches_must_agree() {
        let body =
            |other| format!("mov.b32 %r1, 7;\n@%p1 bra $L1;\nmov.b32 %r1, {other};\n$L1:\nst.local.u32 [%rd1], %r1;");
        assert!(is_constant(&body(7)) && !is_constant(&body(8)));
    }

    #[test]
    fn registers_of_inline_assembly_are_no_symbols() {
        assert!(!is_constant("mov.b32 {low, high}, %r1;\ncvt.f32.f16 %f1, low;\nst.local.f32 [%rd1], %f1;"));
        assert!(!is_constant("mov.u32 %r1, %clock;\nst.local.u32 [%rd1], %r1;"));
        assert!(is_constant("mov.u64 %rd2, table;\nadd.s64 %rd3, %rd2, 8;\nst.local.u64 [%rd1], %rd3;"));
    }

    #[test]
    fn parameters_are_told_by_their_distance() {
        let Contents::Parameter(copy) = contents(
            "ld.param.v2.u32 {%r1, %r2}, [k_param_0+8];\nst.local.v2.u32 [%rd1], {%r1, %r2};\nld.param.u32 %r3, [k_param_0+16];\n\
             st.local.u32 [%rd1+8], %r3;\nst.local.u32 [%rd1+4], %r9;",
        ) else {
            panic!("not a copy")
        };
        assert_eq!((copy.number, copy.offset, copy.is_whole), (0, Some(8), true));
        assert!(copy.may_be_written && copy.writes.is_empty());
        let swapped = "ld.param.v2.u32 {%r1, %r2}, [k_param_0];\nst.local.v2.u32 [%rd1], {%r2, %r1};";
        assert!(!matches!(contents(swapped), Contents::Parameter(copy) if copy.is_whole));
    }
}
