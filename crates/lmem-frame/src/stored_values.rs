//! The values that the PTX stores into an object: constants, a copy of a kernel parameter, or data.
//!
//! Only visible stores count. If code outside the analysis may store too (the address escapes), no statement is made
//! about the object.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cuda_syntax::ast::Kind;
use cuda_syntax::tree::ParameterSyntax;
use cuda_syntax::{SyntaxTrees, TreeId};
use lmem_base::source::Span;
use nv_code::dataflow::flow::operands::{parts, register};
use nv_code::dataflow::{Flow, Root};
use nv_code::{Instruction, PtxFunction, PtxModule, UnitFacts};
use ptx_syntax::{AddressBase, Modifier, Opcode, Operand, Reg, Space};

use super::access::{EscapeKind, ObjectKey, Parameter, ParameterCopy, RawObject, StoredValues};
use super::escape::{self, CallSites};
use crate::place::{Place, innermost};

/// Limit on the chain of definitions behind a stored value.
const MAX_DEPTH: usize = 32;
/// Longer expressions count as data: each level may mention the previous one twice, so the length can double.
const MAX_EXPRESSION: usize = 4096;

/// One stored value.
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
    /// The result of arithmetic on constants, which is constant too.
    Expression(String),
    /// Bytes of a kernel parameter; the offset is `None` if a loop copies.
    Parameter {
        number: usize,
        offset: Option<i64>,
    },
    Data,
}

/// A store of one element to an object; a vector store is several of these.
struct Store {
    /// Offset in the object; `None` if the address is computed.
    at: Option<u64>,
    bytes: u64,
    value: Value,
    /// The innermost level of its inline chain.
    place: Option<Place>,
    /// In a callee that received the address.
    in_callee: bool,
}

/// Fills in the stored values of all objects.
pub fn fill(
    module: &PtxModule,
    flows: &HashMap<&str, Flow<'_>>,
    calls: &CallSites,
    trees: &SyntaxTrees<'_>,
    objects: &mut BTreeMap<ObjectKey, RawObject>,
) {
    let mut stores: BTreeMap<ObjectKey, Vec<Store>> = BTreeMap::new();
    let mut has_unplaced = false;
    let mut names: Vec<&&str> = flows.keys().collect();
    names.sort();
    for name in names {
        let flow = &flows[*name];
        let mut values = RegisterValues { flow, known: HashMap::new() };
        let all = flow.function.instructions.iter().enumerate();
        for (index, instruction) in all.filter(|(_, instruction)| may_store_locally(instruction)) {
            let Some(address) = instruction.address() else { continue };
            let pointer = flow.pointer(address, index);
            let owners = escape::owners(flow, &pointer.roots, calls, flows);
            let is_known = !pointer.roots.is_empty() && !pointer.roots.contains(&Root::Unknown);
            has_unplaced |= instruction.has(Modifier::Local) && !is_known;
            let is_one = owners.len() == 1 && pointer.roots.iter().all(|root| matches!(root, Root::Local { .. }));
            for owner in owners {
                let distance = pointer.offset.filter(|_| is_one).and_then(|offset| u64::try_from(offset).ok());
                let wanted = ObjectKey { offset: owner.offset + distance.unwrap_or(0), ..owner };
                let Some(key) = holder(objects, &wanted) else { continue };
                let at = distance.map(|_| wanted.offset - key.offset);
                let place = innermost(trees, module, flow.function, instruction.location);
                let store = Store { at, bytes: 0, value: Value::Data, place, in_callee: wanted.function != **name };
                stores.entry(key).or_default().extend(values.stored(index, &store));
            }
        }
    }
    for (key, stores) in stores {
        if let Some(object) = objects.get_mut(&key) {
            let is_hidden = has_unplaced || object.escapes.iter().any(|escape| may_write_unseen(&escape.kind, flows));
            object.stored_values = summary(&stores, is_hidden, trees);
        }
    }
}

/// The object that contains an offset.
pub fn holder(objects: &BTreeMap<ObjectKey, RawObject>, wanted: &ObjectKey) -> Option<ObjectKey> {
    let (key, object) = objects.range(..=wanted).next_back()?;
    let is_inside = key.function == wanted.function
        && key.variable == wanted.variable
        && wanted.offset < key.offset + object.bytes.max(1);
    is_inside.then(|| key.clone())
}

fn may_store_locally(instruction: &Instruction) -> bool {
    instruction.opcode() == Opcode::St && matches!(instruction.form.space(), Space::Local | Space::Generic)
}

/// The values of registers in one function, each computed once.
struct RegisterValues<'f> {
    flow: &'f Flow<'f>,
    /// By defining instruction and register.
    known: HashMap<(usize, Reg), Known>,
}

struct Known {
    /// `None` if the limit on levels was met.
    value: Option<Value>,
    /// Levels of definitions that were needed, or that did not suffice.
    levels: usize,
}

/// A value, and the levels of definitions that it took; `usize::MAX` if the limit ended the search.
type FoundValue = (Value, usize);

impl RegisterValues<'_> {
    /// The stores of all elements; `start` is the first element's, without its value.
    fn stored(&mut self, at: usize, start: &Store) -> Vec<Store> {
        let instruction = &self.flow.function.instructions[at];
        let bytes = instruction.element_bytes().unwrap_or(0);
        let elements = instruction.operands.get(1).map_or(&[][..], parts);
        let store = |(index, operand)| Store {
            at: start.at.filter(|_| bytes > 0).map(|at| at + index as u64 * bytes),
            bytes,
            value: self.value(operand, at, MAX_DEPTH + 1).0,
            place: start.place.clone(),
            in_callee: start.in_callee,
        };
        elements.iter().enumerate().map(store).collect()
    }

    /// The value of a register or immediate at instruction `at`; several reaching definitions must agree.
    fn value(&mut self, operand: &Operand, at: usize, levels: usize) -> FoundValue {
        if let Some(number) = number(operand) {
            return (Value::Number(number), 0);
        }
        let Some(register) = register(operand) else {
            return (symbol(self.flow, operand).map_or(Value::Data, Value::Symbol), 0);
        };
        let definitions = self.flow.definitions(register, at);
        let mut all: Option<FoundValue> = None;
        for definition in definitions.iter() {
            let (value, needed) = self.defined(*definition, register, levels);
            all = match all {
                Some((first, most)) if first == value => Some((first, most.max(needed))),
                Some(_) => return (Value::Data, needed),
                None => Some((value, needed)),
            };
        }
        all.unwrap_or((Value::Data, 0))
    }

    fn defined(&mut self, at: usize, register: Reg, levels: usize) -> FoundValue {
        if levels == 0 {
            return (Value::Data, usize::MAX);
        }
        match self.known.get(&(at, register)) {
            Some(Known { value: Some(value), levels: needed }) if *needed <= levels => return (value.clone(), *needed),
            Some(Known { value: Some(_), .. }) => return (Value::Data, usize::MAX),
            Some(Known { value: None, levels: tried }) if levels <= *tried => return (Value::Data, usize::MAX),
            _ => {}
        }
        // A value that depends on itself is data.
        self.known.insert((at, register), Known { value: Some(Value::Data), levels: 0 });
        let (value, needed) = self.computed(at, register, levels - 1);
        let known = match needed {
            usize::MAX => Known { value: None, levels },
            needed => Known { value: Some(value.clone()), levels: needed + 1 },
        };
        self.known.insert((at, register), known);
        (value, needed.saturating_add(1))
    }

    fn computed(&mut self, at: usize, register: Reg, levels: usize) -> FoundValue {
        let flow = self.flow;
        let definition = &flow.function.instructions[at];
        let is_vector = |operand: Option<&Operand>| matches!(operand, Some(Operand::Vector(_)));
        let (result, first) = (definition.operands.first(), definition.operands.get(1));
        match (definition.opcode(), first) {
            (Opcode::Mov, Some(first)) if !is_vector(result) && !is_vector(Some(first)) => {
                self.value(first, at, levels)
            }
            // A block's shared memory has no address before the block runs: no table can have it as its initializer.
            (Opcode::Cvta, Some(_)) if matches!(definition.form.space(), Space::Shared | Space::SharedCluster) => {
                (Value::Data, 0)
            }
            (Opcode::Cvta, Some(first)) => self.value(first, at, levels),
            (Opcode::Ld, _) if definition.has(Modifier::Param) && flow.function.is_entry => {
                (loaded_parameter(flow, at, register), 0)
            }
            (Opcode::Ld, _) if definition.has(Modifier::Const) => (loaded_constant(flow, definition, register), 0),
            (opcode, _) if is_arithmetic(opcode) && definition.guard.is_none() => {
                let mut needed = 0;
                let mut terms: Vec<String> = Vec::new();
                for operand in definition.operands.iter().skip(1).flat_map(parts) {
                    let (value, levels) = self.value(operand, at, levels);
                    needed = needed.max(levels);
                    match value {
                        Value::Number(number) => terms.push(number.to_string()),
                        Value::Symbol(text) | Value::Expression(text) => terms.push(text),
                        Value::Memory { .. } | Value::Parameter { .. } | Value::Data => return (Value::Data, needed),
                    }
                }
                if terms.iter().map(String::len).sum::<usize>() > MAX_EXPRESSION {
                    return (Value::Data, needed);
                }
                // The index in the vector tells its elements apart.
                let part = element(definition, register).unwrap_or(0);
                let text = format!("{}.{part} {}", definition.form.text, terms.join(" "));
                (Value::Expression(text), needed)
            }
            _ => (Value::Data, 0),
        }
    }
}

/// The name of a function, or of a variable that exists before the kernel runs, with the offset: none of local or shared
/// memory, and no parameter.
fn symbol(flow: &Flow<'_>, operand: &Operand) -> Option<String> {
    let (name, offset): (&str, i64) = match operand {
        Operand::Symbol(name, offset) => (name, *offset),
        Operand::Variable(variable, offset) => {
            let info = flow.function.variable(*variable);
            let is_known = matches!(info.space, Space::Global | Space::Const);
            (is_known.then_some(&*info.name)?, *offset)
        }
        _ => return None,
    };
    Some(if offset == 0 { name.to_string() } else { format!("{name}{offset:+}") })
}

/// The index of a register in the vector that an instruction writes.
fn element(instruction: &Instruction, wanted: Reg) -> Option<usize> {
    let result = instruction.operands.first().map_or(&[][..], parts);
    result.iter().position(|part| register(part) == Some(wanted))
}

/// Whether the result of an instruction depends only on its operands.
fn is_arithmetic(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(
        opcode,
        Mov | Add
            | Sub
            | Mul
            | Mad
            | Fma
            | Neg
            | Abs
            | And
            | Or
            | Xor
            | Not
            | Shl
            | Shr
            | Shf
            | Prmt
            | Bfi
            | Bfe
            | Lop3
            | Cvt
            | Min
            | Max
            | Div
            | Rem
            | Sqrt
            | Rsqrt
            | Rcp
            | Ex2
            | Lg2
    )
}

/// A load of a parameter, `ld.param.v2.u32 {%r1, %r2}, [_Z1kv_param_0+8]`, or through a register if a loop copies.
fn loaded_parameter(flow: &Flow<'_>, at: usize, register: Reg) -> Value {
    let load = &flow.function.instructions[at];
    let Some(address) = load.address() else { return Value::Data };
    let part = element(load, register).zip(load.element_bytes()).map(|(index, bytes)| index as i64 * bytes as i64);
    match &address.base {
        AddressBase::Variable(variable) => match flow.function.parameter_number(*variable) {
            Some(number) => Value::Parameter { number, offset: part.map(|part| address.offset + part) },
            None => Value::Data,
        },
        AddressBase::Reg(base) => match pointed_parameter(flow, *base, at) {
            Some(number) => Value::Parameter { number, offset: None },
            None => Value::Data,
        },
        AddressBase::Symbol(_) | AddressBase::Absolute => Value::Data,
    }
}

/// A load of constant memory, `ld.const.u32 %r1, [table+8]`.
fn loaded_constant(flow: &Flow<'_>, load: &Instruction, register: Reg) -> Value {
    let symbol = load.address().and_then(|address| Some((flow.function.base_name(&address.base)?, address.offset)));
    match (symbol, element(load, register), load.element_bytes()) {
        (Some((name, offset)), Some(index), Some(bytes)) => {
            Value::Memory { symbol: name.to_string(), offset: offset + index as i64 * bytes as i64 }
        }
        _ => Value::Data,
    }
}

/// The parameter whose address a register holds, or advances through.
fn pointed_parameter(flow: &Flow<'_>, register: Reg, at: usize) -> Option<usize> {
    let mut seen = BTreeSet::new();
    let first = Operand::Reg(register);
    let mut open = vec![(&first, at)];
    let mut found = None;
    while let Some((operand, at)) = open.pop() {
        if let Operand::Variable(variable, _) = operand {
            if let Some(number) = flow.function.parameter_number(*variable) {
                if found.is_some_and(|known| known != number) {
                    return None;
                }
                found = Some(number);
            }
            continue;
        }
        let Operand::Reg(register) = operand else { continue };
        for definition in flow.definitions(*register, at).iter() {
            let instruction = &flow.function.instructions[*definition];
            // One term of the sum is the parameter's address, the other an index.
            let is_followed = matches!(instruction.opcode(), Opcode::Mov | Opcode::Add | Opcode::Cvta);
            if is_followed && seen.len() < MAX_DEPTH && seen.insert(*definition) {
                open.extend(instruction.operands.iter().skip(1).map(|operand| (operand, *definition)));
            }
        }
    }
    found
}

/// Bits of an immediate: `12`, `-1`, `0x1F`, `0f3F800000`, `0d3FF0000000000000`.
fn number(operand: &Operand) -> Option<u64> {
    match operand {
        Operand::Imm(value) => Some(value.cast_unsigned()),
        Operand::Single(bits) => Some(u64::from(*bits)),
        Operand::Double(bits) => Some(*bits),
        _ => None,
    }
}

fn summary(stores: &[Store], is_hidden: bool, trees: &SyntaxTrees<'_>) -> StoredValues {
    if let Some(copy) = parameter_copy(stores, is_hidden, trees) {
        return StoredValues::Parameter(copy);
    }
    let has_data =
        stores.iter().any(|store| store.at.is_none() || matches!(store.value, Value::Data | Value::Parameter { .. }));
    match !has_data && !is_hidden && (agree(stores.iter()) || is_several_tables(stores, trees)) {
        true => StoredValues::Constants {
            is_computed: stores.iter().any(|store| matches!(store.value, Value::Expression(_))),
            copied_from: copied_from(stores),
        },
        false => StoredValues::Data,
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

/// Whether code may write through an escaped address without a visible store in the PTX.
fn may_write_unseen(kind: &EscapeKind, flows: &HashMap<&str, Flow<'_>>) -> bool {
    match kind {
        EscapeKind::Call(name) => !flows.contains_key(name.as_str()),
        EscapeKind::IndirectCall | EscapeKind::Stored | EscapeKind::Printed => true,
        EscapeKind::Generic(opcode) => !matches!(opcode.split('.').next(), Some("ld" | "st")),
    }
}

/// One byte of a value.
#[derive(PartialEq, Eq)]
enum Byte<'a> {
    Literal(u8),
    Of(&'a str, u64),
}

/// Whether no byte ever gets two different constants.
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

/// Whether the object is several tables: those in mutually exclusive branches may share memory, each with its own
/// initializer.
fn is_several_tables(stores: &[Store], trees: &SyntaxTrees<'_>) -> bool {
    let mut tables: BTreeMap<(TreeId, usize), Vec<&Store>> = BTreeMap::new();
    for store in stores {
        let Some(place) = store.place.as_ref() else { return false };
        let Some(region) = place.tree(trees).region(place.offset).filter(|region| region.kind() == Kind::Declaration)
        else {
            return false;
        };
        tables.entry((place.tree, region.start_byte())).or_default().push(store);
    }
    tables.into_values().all(|table| agree(table.into_iter()))
}

/// The parameter that most bytes are copied from.
fn parameter_copy(stores: &[Store], may_be_written: bool, trees: &SyntaxTrees<'_>) -> Option<ParameterCopy> {
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
        others().filter(|store| !store.in_callee).filter_map(|store| written_at(store, trees)).collect();
    writes.sort_by_key(|span| (span.file.path.clone(), span.start));
    writes.dedup();
    Some(ParameterCopy {
        number,
        parameter: None,
        offset,
        bytes: copied.len() as u64,
        is_whole: offset.is_some() && covered(others()).is_subset(&copied),
        may_be_written: may_be_written || others().any(|store| store.in_callee || written_at(store, trees).is_none()),
        writes,
    })
}

fn covered<'a>(stores: impl Iterator<Item = &'a Store>) -> BTreeSet<u64> {
    stores.filter_map(|store| store.at.map(|at| at..at + store.bytes)).flatten().collect()
}

/// The parameter that a store copies, and the distance between its offset and the object's.
fn source(store: &Store) -> Option<(usize, Option<i64>)> {
    let Value::Parameter { number, offset } = store.value else { return None };
    let distance = offset.zip(store.at).and_then(|(offset, at)| offset.checked_sub_unsigned(at));
    Some((number, distance))
}

/// The variable that a statement writes to, or the statement.
fn written_at(store: &Store, trees: &SyntaxTrees<'_>) -> Option<Span> {
    let place = store.place.as_ref()?;
    let region = place.tree(trees).region(place.offset)?;
    let mentions = place.tree(trees).mentions(region);
    let mut written = mentions.iter().filter(|mention| mention.is_written && mention.declaration.kind.has_parts());
    match (written.next(), written.next()) {
        (Some(only), None) => place.tree(trees).span(only.range.clone()),
        // The compiler places its own by-value copy at the head of the function.
        _ if region.kind() == Kind::FunctionDefinition => None,
        _ => place.span(trees),
    }
}

/// The parameters of a kernel in order; `None` for those that the source does not identify.
pub fn parameters(function: &PtxFunction, facts: &UnitFacts, trees: &SyntaxTrees<'_>) -> Vec<Option<Parameter>> {
    let location = function.locations.iter().find(|location| location.inlined_at.is_none() && location.line > 0);
    let found = location.and_then(|location| {
        let (tree, line) = trees.locate(facts.ptx.files.get(&location.file)?, location.line)?;
        let tree = trees.tree(tree);
        let range = tree.line_range(line as usize)?;
        let list = tree.parameters_at(range.end.saturating_sub(1).max(range.start));
        let list = if list.is_empty() { tree.parameters_at(tree.offset(line, 0)?) } else { list };
        let parameter = |syntax: ParameterSyntax| {
            let span = tree.span(syntax.range)?;
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

    /// The values that a body stores into its only object.
    fn contents(body: &str) -> StoredValues {
        let function = function(body);
        let flow = Flow::new(&function);
        let mut values = RegisterValues { flow: &flow, known: HashMap::new() };
        let mut stores = Vec::new();
        let all = function.instructions.iter().enumerate();
        for (index, instruction) in all.filter(|(_, instruction)| may_store_locally(instruction)) {
            let pointer = flow.pointer(instruction.address().unwrap(), index);
            let at = pointer.offset.and_then(|offset| u64::try_from(offset).ok());
            let start = Store { at, bytes: 0, value: Value::Data, place: None, in_callee: false };
            stores.extend(values.stored(index, &start));
        }
        summary(&stores, false, &cuda_syntax::Example::new("").trees())
    }

    fn is_constant(body: &str) -> bool {
        matches!(contents(body), StoredValues::Constants { .. })
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

    /// `float *stage[2] = {a, b}` with shared `a` and `b`: `static` or `__constant__` would not compile.
    #[test]
    fn addresses_of_shared_memory_are_no_constants() {
        let stored = |address: &str| is_constant(&format!("{address}\nst.local.u64 [%rd1], %rd3;"));
        assert!(!stored(".shared .align 4 .b8 tile[64];\nmov.u64 %rd2, tile;\ncvta.shared.u64 %rd3, %rd2;"));
        assert!(!stored(".shared .align 4 .b8 tile[64];\nmov.u64 %rd3, tile;"));
        assert!(!stored("mov.u64 %rd2, outside;\ncvta.shared.u64 %rd3, %rd2;"));
        assert!(stored("mov.u64 %rd2, outside;\ncvta.global.u64 %rd3, %rd2;"));
    }

    #[test]
    fn constants_of_branches_must_agree() {
        let body =
            |other| format!("mov.b32 %r1, 7;\n@%p1 bra $L1;\nmov.b32 %r1, {other};\n$L1:\nst.local.u32 [%rd1], %r1;");
        assert!(is_constant(&body(7)) && !is_constant(&body(8)));
    }

    #[test]
    fn registers_of_inline_assembly_are_no_symbols() {
        assert!(!is_constant(
            ".reg .b16 low, high;\nmov.b32 {low, high}, %r1;\ncvt.f32.f16 %f1, low;\nst.local.f32 [%rd1], %f1;"
        ));
        assert!(!is_constant("mov.u32 %r1, %clock;\nst.local.u32 [%rd1], %r1;"));
        assert!(is_constant("mov.u64 %rd2, table;\nadd.s64 %rd3, %rd2, 8;\nst.local.u64 [%rd1], %rd3;"));
    }

    #[test]
    fn parameters_are_told_by_their_distance() {
        let StoredValues::Parameter(copy) = contents(
            "ld.param.v2.u32 {%r1, %r2}, [k_param_0+8];\nst.local.v2.u32 [%rd1], {%r1, %r2};\nld.param.u32 %r3, [k_param_0+16];\n\
             st.local.u32 [%rd1+8], %r3;\nst.local.u32 [%rd1+4], %r9;",
        ) else {
            panic!("not a copy")
        };
        assert_eq!((copy.number, copy.offset, copy.is_whole), (0, Some(8), true));
        assert!(copy.may_be_written && copy.writes.is_empty());
        let swapped = "ld.param.v2.u32 {%r1, %r2}, [k_param_0];\nst.local.v2.u32 [%rd1], {%r2, %r1};";
        assert!(!matches!(contents(swapped), StoredValues::Parameter(copy) if copy.is_whole));
    }
}
