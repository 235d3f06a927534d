//! Decodes a parsed module into the form that the machine executes: one kernel, and all functions that it may call.

mod arithmetic;
mod classes;
mod data;
mod matrix;
mod objects;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use ptx_syntax::{
    AddressBase, Form, Function, Graph, Instruction, Linkage, Modifier, Module, Opcode, Operand, ParameterPlace, Reg,
    Space, SpecialRegister, Type, Var, Variable,
};

use crate::memory::{CODE_WINDOW, Class};
use crate::op::*;
use objects::Objects;

/// Limit on shared memory of a block; the hardware has 228 KiB.
const MAX_SHARED: u64 = 1 << 20;
/// Limit on local variables of one function; the hardware has 512 KiB for a thread.
const MAX_LOCAL: u64 = 1 << 23;
/// Limit on the parameters of a function and of the calls in it.
const MAX_PARAMETERS: u64 = 1 << 24;

/// Why a kernel cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodeError {
    /// The module has no kernel of this name.
    NoKernel(String),
    /// Variables exceed any hardware limit.
    TooLarge(String),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKernel(name) => write!(formatter, "no kernel `{name}` in the module"),
            Self::TooLarge(name) => write!(formatter, "variables of `{name}` are larger than any hardware allows"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// A decoded function.
#[derive(Debug, Clone)]
pub(crate) struct Code {
    pub name: Arc<str>,
    pub insts: Vec<Inst>,
    pub registers: usize,
    pub blocks: usize,
    pub instructions: usize,
    pub local_bytes: u64,
    /// Local variables, as start and end.
    pub local_objects: Vec<(u64, u64)>,
    /// The variables in them, as start and end; an address has the number of one.
    pub objects: Vec<(u64, u64)>,
    pub parameter_bytes: u32,
    pub inputs: Vec<Slot>,
    pub outputs: Vec<Slot>,
}

/// A load of a part of a kernel parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterUse {
    /// Index of the parameter.
    pub parameter: u32,
    /// Offset in the parameter.
    pub offset: u32,
    /// Size: 1, 2, 4 or 8.
    pub bytes: u32,
    /// What the loaded value is used for.
    pub class: Class,
}

/// A module variable that the program uses.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub variable: Variable,
}

/// A decoded kernel with all functions that it may call.
#[derive(Debug, Clone)]
pub struct Program {
    /// The kernel comes first.
    pub(crate) codes: Vec<Code>,
    pub(crate) links: Vec<Link>,
    pub(crate) code_by_name: HashMap<Arc<str>, u32>,
    pub(crate) shared_bytes: u64,
    /// Offset of dynamic shared memory.
    pub(crate) dynamic_shared: u64,
    kernel: Function,
}

impl Program {
    /// Decodes a kernel. An unsupported instruction is an error only when it is executed.
    ///
    /// # Errors
    /// There is no such kernel, or its variables exceed any hardware limit.
    pub fn new(module: &Module, kernel: &str) -> Result<Self, DecodeError> {
        let find = |name: &str| module.functions.iter().find(|function| &*function.name == name);
        let kernel = find(kernel).filter(|f| f.is_entry).ok_or_else(|| DecodeError::NoKernel(kernel.to_string()))?;
        let functions = reachable(module, kernel);
        let mut decoder = Decoder::new(module, &functions)?;
        let codes = functions.iter().map(|function| decoder.function(function)).collect::<Result<Vec<_>, _>>()?;
        decoder.link_initial_values();
        Ok(Self {
            codes,
            links: decoder.links,
            code_by_name: decoder.code_by_name,
            shared_bytes: decoder.shared_bytes,
            dynamic_shared: decoder.dynamic_shared,
            kernel: kernel.clone(),
        })
    }

    /// The parsed kernel.
    pub fn kernel(&self) -> &Function {
        &self.kernel
    }

    /// Names of the kernel and the functions that it may call, in the order of [`crate::Outcome::blocks`].
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.codes.iter().map(|code| &*code.name)
    }

    /// Bytes of static shared memory.
    pub fn static_shared(&self) -> u64 {
        self.shared_bytes
    }

    /// The kernel's loads of its parameters, in the order of the text: they show where structures contain pointers, and
    /// how numbers are used.
    pub fn parameter_uses(&self) -> Vec<ParameterUse> {
        let kernel = &self.codes[0];
        let mut uses: Vec<ParameterUse> = Vec::new();
        for inst in &kernel.insts {
            let Op::Load { access, d } = &inst.op else { continue };
            let (Space::Param, Src::Imm(start)) = (access.space, access.addr.base) else { continue };
            for index in 0..d.len() as u64 {
                let at = start + index * u64::from(access.bytes);
                let slot = kernel.inputs.iter().position(|slot| {
                    (u64::from(slot.offset)..u64::from(slot.offset) + u64::from(slot.bytes)).contains(&at)
                });
                let Some(parameter) = slot else { continue };
                let offset = at as u32 - kernel.inputs[parameter].offset;
                let class = access.class;
                uses.push(ParameterUse { parameter: parameter as u32, offset, bytes: access.bytes, class });
            }
        }
        uses
    }

    /// The unsupported instructions of the program, each once: `tex.2d.v4.f32.s32`. A launch that does not execute any
    /// of them completes.
    pub fn not_supported(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for inst in self.codes.iter().flat_map(|code| &code.insts) {
            if let Op::NotSupported(name) = &inst.op
                && !names.contains(&&**name)
            {
                names.push(name);
            }
        }
        names
    }
}

/// The functions that a kernel may call, itself first: those that it names, and those in tables that it names.
fn reachable<'m>(module: &'m Module, kernel: &'m Function) -> Vec<&'m Function> {
    let by_name: HashMap<&str, &Function> = module.functions.iter().rev().map(|f| (&*f.name, f)).collect();
    let aliases: HashMap<&str, &str> = module.aliases.iter().map(|(a, b)| (&**a, &**b)).collect();
    let mut tables: Vec<&Variable> =
        module.variables.iter().filter(|variable| named_in(variable).next().is_some()).collect();
    let mut found = vec![kernel];
    let mut names: HashSet<&str> = std::iter::once(&*kernel.name).collect();
    let mut next = 0;
    while let Some(function) = found.get(next).copied() {
        next += 1;
        let operands = function.instructions.iter().flat_map(|instruction| &instruction.operands);
        let mut open: Vec<&str> = operands
            .filter_map(|operand| match operand {
                Operand::Symbol(name, _) => Some(&**name),
                _ => None,
            })
            .collect();
        open.extend(tables.extract_if(.., |table| function.mentions(&table.name)).flat_map(named_in));
        while let Some(name) = open.pop() {
            let name = aliases.get(name).copied().unwrap_or(name);
            if let Some(function) = by_name.get(name).filter(|_| names.insert(name)) {
                found.push(function);
            }
            // A table may have the addresses of others.
            open.extend(tables.extract_if(.., |table| &*table.name == name).flat_map(named_in));
        }
    }
    found
}

/// The functions and variables whose addresses are in a variable's initial value.
fn named_in(variable: &Variable) -> impl Iterator<Item = &str> {
    variable.initial.names().map(|name| &**name)
}

struct Decoder<'m> {
    module: &'m Module,
    variables: HashMap<&'m str, &'m Variable>,
    aliases: HashMap<&'m str, &'m str>,
    code_by_name: HashMap<Arc<str>, u32>,
    links: Vec<Link>,
    link_by_name: HashMap<Arc<str>, u32>,
    /// Offsets of the module's shared variables.
    shared: HashMap<&'m str, u64>,
    shared_bytes: u64,
    dynamic_shared: u64,
    next_function_shared: u64,
}

/// State while one function is decoded.
struct Body<'m> {
    function: &'m Function,
    /// Offsets of variables in their state space.
    offsets: Vec<u64>,
    classes: Vec<Class>,
    objects: Objects,
}

fn align(at: u64, to: u32) -> u64 {
    at.checked_next_multiple_of(u64::from(to.clamp(1, 1 << 20))).unwrap_or(u64::MAX / 2)
}

impl<'m> Decoder<'m> {
    fn new(module: &'m Module, functions: &[&'m Function]) -> Result<Self, DecodeError> {
        let variables: HashMap<&str, &Variable> = module.variables.iter().rev().map(|v| (&*v.name, v)).collect();
        let code_by_name = (0..).zip(functions).map(|(index, function)| (Arc::clone(&function.name), index)).collect();
        let mut decoder = Self {
            module,
            variables,
            aliases: module.aliases.iter().map(|(a, b)| (&**a, &**b)).collect(),
            code_by_name,
            links: Vec::new(),
            link_by_name: HashMap::new(),
            shared: HashMap::new(),
            shared_bytes: 0,
            dynamic_shared: 0,
            next_function_shared: 0,
        };
        decoder.lay_out_shared(functions)?;
        Ok(decoder)
    }

    /// Lays out shared memory: variables of the module, then those of functions, then the dynamic part of the launch.
    fn lay_out_shared(&mut self, functions: &[&'m Function]) -> Result<(), DecodeError> {
        let mut at = 0u64;
        let mut dynamic = Vec::new();
        for operand in functions.iter().flat_map(|f| &f.instructions).flat_map(|i| &i.operands) {
            let name = match operand {
                Operand::Symbol(name, _) => name,
                Operand::Address(address) => match &address.base {
                    AddressBase::Symbol(name) => name,
                    _ => continue,
                },
                _ => continue,
            };
            let Some(variable) = self.variables.get(&**name).copied() else { continue };
            if variable.space != Space::Shared || self.shared.contains_key(&*variable.name) {
                continue;
            }
            if variable.linkage == Linkage::Extern || variable.bytes == 0 {
                dynamic.push(variable);
                self.shared.insert(&variable.name, 0);
                continue;
            }
            at = align(at, variable.align);
            self.shared.insert(&variable.name, at);
            at = at.saturating_add(variable.bytes);
        }
        self.next_function_shared = at;
        for function in functions {
            for variable in function.variables.iter().filter(|variable| variable.space == Space::Shared) {
                at = align(at, variable.align).saturating_add(variable.bytes);
            }
            at = align(at, 16);
        }
        if at > MAX_SHARED {
            return Err(DecodeError::TooLarge(functions[0].name.to_string()));
        }
        self.shared_bytes = at;
        let alignment = dynamic.iter().map(|variable| variable.align).max().unwrap_or(1).max(16);
        self.dynamic_shared = align(at, alignment);
        for variable in dynamic {
            self.shared.insert(&variable.name, self.dynamic_shared);
        }
        Ok(())
    }

    fn function(&mut self, function: &'m Function) -> Result<Code, DecodeError> {
        let too_large = || DecodeError::TooLarge(function.name.to_string());
        let (mut local, mut parameters) = (0u64, 0u64);
        let mut shared = align(self.next_function_shared, 16);
        let mut offsets = Vec::with_capacity(function.variables.len());
        let mut local_objects = Vec::new();
        for variable in &function.variables {
            let area = match variable.space {
                Space::Local => &mut local,
                Space::Shared => &mut shared,
                Space::Param => &mut parameters,
                _ => {
                    offsets.push(0);
                    continue;
                }
            };
            let start = align(*area, variable.align);
            *area = start.saturating_add(variable.bytes);
            offsets.push(start);
            if variable.space == Space::Local {
                local_objects.push((start, *area));
            }
        }
        if function.variables.iter().any(|variable| variable.space == Space::Shared) {
            self.next_function_shared = shared;
        }
        if local > MAX_LOCAL || parameters > MAX_PARAMETERS {
            return Err(too_large());
        }
        let slots = |wanted: fn(ParameterPlace) -> bool| {
            let all = function.variables.iter().zip(&offsets);
            let wanted = all.filter(|(variable, _)| variable.parameter.is_some_and(wanted));
            let slot = |(variable, offset): (&Variable, &u64)| {
                // Parameters in registers, as in old PTX, need no memory.
                let bytes = if variable.space == Space::Param { variable.bytes as u32 } else { 0 };
                Slot { offset: *offset as u32, bytes }
            };
            wanted.map(slot).collect::<Vec<_>>()
        };
        let inputs = slots(|place| matches!(place, ParameterPlace::Input(_)));
        let outputs = slots(|place| matches!(place, ParameterPlace::Output(_)));
        let objects = Objects::of(function, &offsets);
        let body = Body { function, offsets, classes: classes::classes(function), objects };
        let (insts, blocks) = self.instructions(&body);
        Ok(Code {
            name: Arc::clone(&function.name),
            insts,
            registers: function.registers.len(),
            blocks,
            instructions: function.instructions.len(),
            local_bytes: align(local, 16),
            local_objects,
            objects: body.objects.ranges,
            parameter_bytes: parameters as u32,
            inputs,
            outputs,
        })
    }

    /// Decodes the instructions. Each block starts with an [`Op::Block`], which is the target of branches.
    fn instructions(&mut self, body: &Body<'m>) -> (Vec<Inst>, usize) {
        let function = body.function;
        let graph = Graph::new(function);
        let meets = meeting_points(function, &graph);
        let mut is_join = vec![false; graph.blocks.len()];
        for meet in meets.iter().flatten() {
            is_join[*meet as usize] = true;
        }
        let start_of = |block: u32| graph.blocks.get(block as usize).map_or(NOWHERE, |info| info.start + block);
        let mut insts = Vec::with_capacity(function.instructions.len() + graph.blocks.len() + 1);
        for (block, info) in (0u32..).zip(&graph.blocks) {
            insts.push(Inst {
                guard: None,
                op: Op::Block { block, is_join: is_join[block as usize] },
                site: info.start,
            });
            for site in info.start..info.end {
                let instruction = &function.instructions[site as usize];
                let meet = meets[block as usize].map_or(NOWHERE, start_of);
                let pc_of = |target: u32| graph.block_of(target as usize).map(|block| start_of(block.0));
                let op = match instruction.opcode() {
                    Opcode::Bra | Opcode::Brx => self.branch(body, instruction, meet, &pc_of),
                    _ => self.instruction(body, instruction),
                };
                let op = op.unwrap_or_else(|| Op::NotSupported((*instruction.form.text).into()));
                let guard = instruction.guard.map(|guard| (guard.register.0, guard.negated));
                insts.push(Inst { guard, op, site });
            }
        }
        // A function may end without `ret`; a label at its end leads to this added one.
        let site = u32::try_from(function.instructions.len()).unwrap_or(u32::MAX);
        insts.push(Inst { guard: None, op: Op::Return, site });
        (insts, graph.blocks.len())
    }

    fn branch(
        &mut self,
        body: &Body<'m>,
        instruction: &Instruction,
        meet: u32,
        pc_of: &dyn Fn(u32) -> Option<u32>,
    ) -> Option<Op> {
        let end = u32::try_from(body.function.instructions.len()).ok()?;
        // A label behind the last instruction leads to the added `ret`.
        let last = |target: &u32| (*target == end).then_some(NOWHERE);
        let targets = body.function.targets(instruction);
        let table: Vec<u32> =
            targets.iter().map(|target| last(target).or_else(|| pc_of(*target))).collect::<Option<_>>()?;
        if instruction.opcode() == Opcode::Bra {
            return Some(Op::Branch { target: *table.first()?, meet });
        }
        let index = self.source(body, instruction.operands.first()?, Type::U32)?;
        Some(Op::BranchTable { index, table, meet })
    }

    fn instruction(&mut self, body: &Body<'m>, instruction: &Instruction) -> Option<Op> {
        let form = &*instruction.form;
        if !form.is_known() {
            return None;
        }
        match instruction.opcode() {
            Opcode::Ret => Some(Op::Return),
            Opcode::Exit => Some(Op::Exit),
            Opcode::Trap => Some(Op::Trap),
            Opcode::Membar
            | Opcode::Prefetch
            | Opcode::Prefetchu
            | Opcode::Nanosleep
            | Opcode::Pmevent
            | Opcode::Brkpt
            | Opcode::Discard
            | Opcode::Applypriority
            | Opcode::Griddepcontrol
            | Opcode::Setmaxnreg => Some(Op::Nothing),
            Opcode::Fence => (!form.has(Modifier::Proxy)).then_some(Op::Nothing),
            Opcode::Mov
            | Opcode::Ld
            | Opcode::Ldu
            | Opcode::St
            | Opcode::Atom
            | Opcode::Red
            | Opcode::Cvta
            | Opcode::Isspacep
            | Opcode::Alloca
            | Opcode::Stacksave
            | Opcode::Stackrestore
            | Opcode::Call
            | Opcode::Cp
            | Opcode::Createpolicy => self.data(body, instruction),
            Opcode::Shfl
            | Opcode::Vote
            | Opcode::Match
            | Opcode::Redux
            | Opcode::Elect
            | Opcode::Activemask
            | Opcode::Bar
            | Opcode::Barrier
            | Opcode::Mma
            | Opcode::Wmma
            | Opcode::Ldmatrix
            | Opcode::Stmatrix => self.together(body, instruction),
            _ => {
                let mut op = self.arithmetic(body, instruction)?;
                if let (Op::Compute { b, .. }, Some(constant)) = (&mut op, body.objects.marked(instruction)) {
                    *b = Src::Imm(constant);
                }
                Some(op)
            }
        }
    }

    /// A destination register.
    fn register(&self, operand: &Operand) -> Option<u32> {
        match operand {
            Operand::Reg(Reg(register)) => Some(*register),
            _ => None,
        }
    }

    /// A destination register, or the sink `_`.
    fn register_or_sink(&self, operand: &Operand) -> Option<Option<u32>> {
        match operand {
            Operand::Sink => Some(None),
            other => self.register(other).map(Some),
        }
    }

    fn predicate(&self, operand: &Operand) -> Option<PredicateSrc> {
        Some(match operand {
            Operand::Reg(Reg(register)) => PredicateSrc::Reg { register: *register, negated: false },
            Operand::NotReg(Reg(register)) => PredicateSrc::Reg { register: *register, negated: true },
            Operand::Imm(value) => PredicateSrc::Constant(*value != 0),
            _ => return None,
        })
    }

    /// A source operand of a type.
    fn source(&mut self, body: &Body<'m>, operand: &Operand, ty: Type) -> Option<Src> {
        let mask = u64::MAX >> (64 - ty.bits().clamp(1, 64));
        Some(match operand {
            Operand::Reg(Reg(register)) => Src::Reg(*register),
            Operand::Imm(value) => Src::Imm(value.cast_unsigned() & mask),
            Operand::Single(bits) if ty.bits() == 64 => Src::Imm(f64::from(f32::from_bits(*bits)).to_bits()),
            Operand::Single(bits) => Src::Imm(u64::from(*bits)),
            Operand::Double(bits) if ty.bits() == 32 => Src::Imm(u64::from((f64::from_bits(*bits) as f32).to_bits())),
            Operand::Double(bits) => Src::Imm(*bits),
            Operand::Special(special) if is_known(*special) => Src::Special(*special),
            Operand::Variable(variable, offset) => self.variable(body, *variable, *offset)?,
            Operand::Symbol(name, offset) => self.symbol(name, *offset)?,
            _ => return None,
        })
    }

    fn variable(&mut self, body: &Body<'m>, variable: Var, offset: i64) -> Option<Src> {
        let at = body.offsets[variable.index()].wrapping_add(offset.cast_unsigned());
        match body.function.variable(variable).space {
            Space::Local => Some(Src::Local(at.wrapping_add(body.objects.bits_of(variable)))),
            Space::Shared | Space::Param => Some(Src::Imm(at)),
            // Static variables in functions are not supported, as compilers do not write them.
            _ => None,
        }
    }

    fn symbol(&mut self, name: &Arc<str>, offset: i64) -> Option<Src> {
        let name: &str = self.aliases.get(&**name).copied().unwrap_or(name);
        if let Some(index) = self.code_by_name.get(name) {
            return Some(Src::Imm(code_address(*index)));
        }
        let variable = *self.variables.get(name)?;
        if variable.space == Space::Shared {
            return self.shared.get(name).map(|at| Src::Imm(at.wrapping_add(offset.cast_unsigned())));
        }
        Some(Src::Link(self.link(variable)?, offset.cast_unsigned()))
    }

    fn link(&mut self, variable: &'m Variable) -> Option<u32> {
        if !matches!(variable.space, Space::Global | Space::Const) {
            return None;
        }
        if let Some(index) = self.link_by_name.get(&variable.name) {
            return Some(*index);
        }
        let index = u32::try_from(self.links.len()).ok()?;
        self.links.push(Link { variable: variable.clone() });
        self.link_by_name.insert(Arc::clone(&variable.name), index);
        Some(index)
    }

    /// Links variables whose addresses are in initializers of others.
    fn link_initial_values(&mut self) {
        let mut next = 0;
        while let Some(link) = self.links.get(next) {
            next += 1;
            let names: Vec<Arc<str>> = link.variable.initial.names().cloned().collect();
            for name in names {
                if let Some(variable) = self.variables.get(&*name).copied() {
                    self.link(variable);
                }
            }
        }
    }

    /// Width of a register; 64 if it is not declared.
    fn register_bits(&self, body: &Body<'m>, register: u32) -> u32 {
        body.function.register(Reg(register)).ty.map_or(64, Type::bits)
    }

    fn address(&mut self, body: &Body<'m>, operand: &Operand) -> Option<Addr> {
        let Operand::Address(address) = operand else { return None };
        let offset = address.offset.cast_unsigned();
        Some(match &address.base {
            AddressBase::Reg(Reg(register)) => {
                Addr { base: Src::Reg(*register), offset, narrow: self.register_bits(body, *register) <= 32 }
            }
            AddressBase::Variable(variable) => {
                Addr { base: self.variable(body, *variable, address.offset)?, offset: 0, narrow: false }
            }
            AddressBase::Symbol(name) => Addr { base: self.symbol(name, address.offset)?, offset: 0, narrow: false },
            AddressBase::Absolute => Addr { base: Src::Imm(offset), offset: 0, narrow: false },
        })
    }

    fn is_declared_extern(&self, name: &str) -> bool {
        self.module.declarations.iter().any(|function| &*function.name == name)
    }
}

/// Whether the machine supports a special register.
fn is_known(special: SpecialRegister) -> bool {
    use SpecialRegister::*;
    !matches!(
        special,
        Unknown | CurrentGraphExec | ReservedSmemOffsetBegin | ReservedSmemOffsetEnd | ReservedSmemOffsetCap
    )
}

/// The address of a function, as function pointers hold it.
pub(crate) fn code_address(index: u32) -> u64 {
    CODE_WINDOW + 16 * (u64::from(index) + 1)
}

/// By block: the block at which threads that diverge there reconverge.
///
/// It is the immediate post-dominator in a reduced graph: if a block has another successor, its edges to blocks that
/// only return are removed, because threads that exit are not waited for. Of a loop that only such an edge leaves, the last one
/// stays: without it, threads would never meet there.
fn meeting_points(function: &Function, graph: &Graph) -> Vec<Option<u32>> {
    let mut pruned = graph.clone();
    let only_leaves = |block: usize| {
        let info = &graph.blocks[block];
        let first = &function.instructions[info.start as usize];
        info.end == info.start + 1
            && matches!(first.opcode(), Opcode::Ret | Opcode::Exit | Opcode::Trap)
            && first.guard.is_none()
    };
    for block in 0..pruned.blocks.len() {
        let stays = graph.blocks[block].successors.iter().copied().filter(|next| !only_leaves(next.index()));
        let stays: Vec<_> = stays.collect();
        if !stays.is_empty() {
            pruned.blocks[block].may_leave = false;
            pruned.blocks[block].successors = stays;
        }
    }
    set_predecessors(&mut pruned);
    let ends = (0..pruned.blocks.len()).filter(|block| pruned.blocks[*block].may_leave);
    let mut leaves = vec![false; pruned.blocks.len()];
    mark_before(&pruned, ends.collect(), &mut leaves);
    for block in (0..pruned.blocks.len()).rev() {
        let (all, kept) = (&graph.blocks[block], &mut pruned.blocks[block]);
        if !leaves[block] && (kept.successors.len() < all.successors.len() || all.may_leave) {
            kept.successors.clone_from(&all.successors);
            kept.may_leave = all.may_leave;
            mark_before(&pruned, vec![block], &mut leaves);
        }
    }
    set_predecessors(&mut pruned);
    let post = pruned.post_dominators();
    let point = |block: usize| {
        // A block with one successor does not diverge.
        let parts = graph.blocks[block].successors.len() > 1;
        parts.then(|| post.immediate(ptx_syntax::Block(block as u32))).flatten().map(|block| block.0)
    };
    (0..graph.blocks.len()).map(point).collect()
}

fn set_predecessors(graph: &mut Graph) {
    for block in &mut graph.blocks {
        block.predecessors.clear();
    }
    for block in 0..graph.blocks.len() {
        for next in graph.blocks[block].successors.clone() {
            graph.blocks[next.index()].predecessors.push(ptx_syntax::Block(block as u32));
        }
    }
}

/// Marks blocks and all those before them that are not marked.
fn mark_before(graph: &Graph, mut blocks: Vec<usize>, marks: &mut [bool]) {
    while let Some(block) = blocks.pop() {
        if !std::mem::replace(&mut marks[block], true) {
            blocks.extend(graph.blocks[block].predecessors.iter().map(|before| before.index()));
        }
    }
}

/// Whether a form has only the allowed modifiers, besides types.
fn only(form: &Form, allowed: &[Modifier]) -> bool {
    form.modifiers.iter().all(|modifier| allowed.contains(modifier))
}
