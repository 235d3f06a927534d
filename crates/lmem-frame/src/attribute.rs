//! Attribution: builds the frame of each kernel from machine code, PTX and source.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use cuda_syntax::SyntaxTrees;
use cuda_syntax::tree::DeclarationKind;
use lmem_base::gpu::{Gpu, MAX_PADDING};
use lmem_base::mangling::{bind, demangle, template_arguments, without_copy_number};
use lmem_unit::Artifacts;
use nv_code::{KernelFacts, LocalAccess, PtxFunction, PtxVariable, PtxasLog, STACK_ALIGNMENT, UnitFacts};

use crate::access::{Access, ObjectKey, RawObject, StoredValues};
use crate::allocation;
use crate::balance::balance;
use crate::call_objects::Calls;
use crate::calls::{self, Sorted};
use crate::described::describe;
use crate::escape;
use crate::frame::{FrameObject, KernelFrame, SpillCheck, StackObjectKind};
use crate::symbolize::name::{self, Variable};
use crate::{call_chain, objects, spill, stored_values};

/// Attributes all local memory of a unit to variables and calls. `flag` is a `-maxrregcount` of the compilation.
pub fn attribute(
    trees: &SyntaxTrees<'_>,
    facts: &UnitFacts,
    artifacts: &Artifacts,
    flag: Option<(u32, String)>,
) -> Vec<KernelFrame> {
    let about = Attribution {
        facts,
        unlimited: PtxasLog::parse(&artifacts.unlimited_log),
        trees,
        gpu: artifacts.arch().gpu(),
        flag,
        calls: Calls::new(facts, trees),
    };
    let shared = PtxasLog::parse(artifacts.shared_log.as_deref().unwrap_or(""));
    let mut frames = Vec::new();
    let mut functions: BTreeMap<String, KernelFrame> = BTreeMap::new();
    for kernel in &facts.kernels {
        let (own, callees) = about.frames(kernel);
        let shared_spilling = shared.functions.get(&kernel.name).map(|function| function.usage);
        frames.push(KernelFrame { shared_spilling, ..own });
        callees.into_iter().for_each(|callee| keep_largest(&mut functions, callee));
    }
    frames.extend(functions.into_values());
    frames
}

/// Several kernels have copies of a function, each compiled under that kernel's limits: the copy with the largest frame
/// is kept.
fn keep_largest(functions: &mut BTreeMap<String, KernelFrame>, mut callee: KernelFrame) {
    let size = |frame: &KernelFrame| (frame.usage.stack_frame, frame.usage.spill_stores);
    match functions.entry(callee.mangled.clone()) {
        Entry::Vacant(entry) => _ = entry.insert(callee),
        Entry::Occupied(mut entry) => {
            let known = entry.get_mut();
            if size(&callee) > size(known) {
                std::mem::swap(known, &mut callee);
            }
            known.kernels.extend(callee.kernels);
        }
    }
}

/// Inputs for the frames of one unit.
struct Attribution<'a> {
    facts: &'a UnitFacts,
    unlimited: PtxasLog,
    trees: &'a SyntaxTrees<'a>,
    gpu: &'static Gpu,
    /// A `-maxrregcount` of the compilation.
    flag: Option<(u32, String)>,
    calls: Calls<'a>,
}

impl Attribution<'_> {
    /// The frame of a kernel, and the separate frames of the functions copied into its section.
    fn frames(&self, kernel: &KernelFacts) -> (KernelFrame, Vec<KernelFrame>) {
        if !kernel.has_local_memory() && !self.calls.has_recursion(&kernel.name) {
            return (KernelFrame::new(kernel), Vec::new());
        }
        let mut sorted = calls::sort(kernel, self.facts);
        let gathered = objects::gather(kernel, &sorted.others, self.facts, self.trees);
        let mut accesses: BTreeMap<Option<usize>, Vec<LocalAccess>> = BTreeMap::new();
        for access in std::mem::take(&mut sorted.others) {
            accesses.entry(access.callee).or_default().push(access);
        }
        let mut objects: BTreeMap<Option<usize>, Vec<(ObjectKey, RawObject)>> = BTreeMap::new();
        for (key, raw) in gathered.objects {
            let owner = kernel.callees.iter().position(|callee| callee.name == key.function);
            objects.entry(owner).or_default().push((key, raw));
        }
        let mut stray = gathered.stray;
        let mut make = |index: Option<usize>, function: KernelFacts| {
            let function = KernelFacts { accesses: accesses.remove(&index).unwrap_or_default(), ..function };
            let raw = objects.remove(&index).unwrap_or_default();
            self.frame(kernel, function, index, &sorted, raw, stray.remove(&index).unwrap_or_default())
        };
        let own = make(None, kernel.without_code());
        let callees = kernel.callees.iter().enumerate().map(|(index, callee)| {
            let frame = make(Some(index), callee.as_function());
            let is_caller = !frame.is_address_taken || escape::may_call(&self.facts.ptx, &kernel.name, &callee.name);
            KernelFrame { kernels: is_caller.then(|| kernel.name.clone()).into_iter().collect(), ..frame }
        });
        let callees = callees.collect();
        (own, callees)
    }

    /// Builds one frame; `kernel` has the accesses that do not belong to calls. A function is compiled under the limits
    /// of the kernel that has the copy.
    fn frame(
        &self,
        section: &KernelFacts,
        mut kernel: KernelFacts,
        index: Option<usize>,
        sorted: &Sorted,
        mut raw: Vec<(ObjectKey, RawObject)>,
        stray: Vec<Access>,
    ) -> KernelFrame {
        let ptx = &self.facts.ptx;
        let function = ptx.function(&kernel.name);
        let limiting = ptx.function(&section.name);
        let described = function.and_then(|function| describe(function, ptx, self.trees));
        let body = described.as_ref().and_then(|described| described.body.clone());
        let (span, syntax) = described.map_or((None, None), |described| (described.span, described.syntax));
        // If the source is PTX itself, the header of the function is the location.
        let header = || self.trees.ptx()?.line_span(*function?.lines.as_ref()?.start() as usize);
        let span = span.or_else(header);
        let mut frame = KernelFrame {
            span,
            body,
            launch_bounds: syntax.as_ref().map(|(bounds, _)| bounds.clone()).unwrap_or_default(),
            limit: limiting.map(|function| spill::limit(function, self.flag.clone(), self.gpu)),
            unlimited: self.unlimited.functions.get(&kernel.name).map(|function| function.usage),
            recursion: self.calls.recursion_of(&kernel.name),
            is_address_taken: !kernel.is_entry && ptx.is_address_taken(&kernel.name),
            ..KernelFrame::new(&kernel)
        };
        let mut incoming: Option<FrameObject> = None;
        let mut objects = self.calls.call_objects(section, &frame, sorted.areas(index, self.facts, self.trees));
        let saved = sorted.saved_bytes.get(&index).copied().unwrap_or_default();
        frame.saved = saved;
        frame.spill_check = self.check_spills(&kernel, saved);
        // ptxas counts saved registers as spills, but they do not come from register pressure.
        kernel.usage.spill_stores = kernel.usage.spill_stores.saturating_sub(saved.0);
        kernel.usage.spill_loads = kernel.usage.spill_loads.saturating_sub(saved.1);
        objects.extend(self.spilled(&kernel));
        let mut parameters =
            function.map(|function| stored_values::parameters(function, self.facts, self.trees)).unwrap_or_default();
        let template_parameters = syntax.map(|(_, syntax)| syntax.template_parameters).unwrap_or_default();
        for parameter in parameters.iter_mut().flatten() {
            parameter.type_text = bind(&parameter.type_text, &template_parameters, &template_arguments(&frame.name));
        }
        raw.iter_mut().for_each(|(_, raw)| raw.stored_values.name(&parameters));
        let names = self.names(&mut raw);
        for ((key, raw), named) in raw.into_iter().zip(names) {
            if !kernel.is_entry && is_parameter_of(function, &key) {
                // Incoming arguments are in the frame of the caller.
                incoming = incoming.or_else(|| self.calls.incoming(&raw)).filter(|_| kernel.usage.stack_frame == 0);
                continue;
            }
            objects.push(self.variable_object(key, raw, named, (function, &template_parameters), &frame));
        }
        if objects.is_empty() {
            objects.extend(incoming);
        }
        let is_apart = |name: &str| {
            section.callees.iter().any(|callee| callee.name == name || without_copy_number(&callee.name) == Some(name))
        };
        let size = kernel.usage.stack_frame;
        let functions = call_chain::mark(&mut objects, size, &kernel.name, ptx, is_apart);
        frame.objects = balance(objects, stray, size, padding(&kernel, functions));
        frame
    }

    /// Compares ptxas's spill figures with the instructions that are marked as spills or save registers.
    fn check_spills(&self, kernel: &KernelFacts, saved: (u64, u64)) -> Option<SpillCheck> {
        let marked = kernel.marked_spill_bytes();
        let found = (marked.0 + saved.0, marked.1 + saved.1);
        let shared = kernel.shared_spills;
        let reported = (kernel.usage.spill_stores + shared.0, kernel.usage.spill_loads + shared.1);
        let is_comparable = self.facts.has_spill_marks && !self.facts.is_without_log;
        (is_comparable && found != reported).then_some(SpillCheck { found, reported })
    }

    /// The source name of the parameter that an object is.
    fn parameter(&self, key: &ObjectKey) -> Option<Variable> {
        let function = self.facts.ptx.function(&key.function)?;
        let variable = function.local_variables.get(key.variable)?;
        let parameters = stored_values::parameters(function, self.facts, self.trees);
        let parameter = parameters.into_iter().nth(variable.parameter?)??;
        Some(Variable {
            name: parameter.name,
            type_text: parameter.type_text,
            kind: DeclarationKind::Aggregate,
            is_parameter: true,
            volatility: None,
            initializer: None,
            sharing: Vec::new(),
            members: Vec::new(),
            bytes: Some(variable.bytes),
            span: parameter.span,
        })
    }

    fn spilled(&self, kernel: &KernelFacts) -> Option<FrameObject> {
        let spills = spill::spills(kernel, self.facts, self.trees)?;
        let bytes = spills.slot_bytes;
        Some(FrameObject::new(StackObjectKind::Spills(Box::new(spills)), bytes))
    }

    /// The variables of all objects, in the same order.
    fn names(&self, objects: &mut [(ObjectKey, RawObject)]) -> Vec<Option<Variable>> {
        // Parameters in memory, and objects that do not come from the source, have no statements that could name them.
        let has_name = |key: &ObjectKey, raw: &RawObject| {
            let function = self.facts.ptx.function(&key.function);
            raw.allocation.is_none() && function.is_some_and(|function| is_of_source(function, key))
        };
        let are_named: Vec<bool> = objects.iter().map(|(key, raw)| has_name(key, raw)).collect();
        let of_source = objects.iter_mut().zip(&are_named).filter(|(_, is_named)| **is_named);
        let mut of_source: Vec<&mut RawObject> = of_source.map(|((_, raw), _)| raw).collect();
        let mut names = name::name_all(&mut of_source, self.trees).into_iter();
        let all = objects.iter().zip(&are_named);
        all.map(|((key, _), is_named)| if *is_named { names.next().flatten() } else { self.parameter(key) }).collect()
    }

    fn variable_object(
        &self,
        key: ObjectKey,
        raw: RawObject,
        named: Option<Variable>,
        (function, own_parameters): (Option<&PtxFunction>, &[String]),
        frame: &KernelFrame,
    ) -> FrameObject {
        let allocation = raw.allocation.as_ref().map(|places| allocation::describe(places, self.trees));
        let is_own = function.is_some_and(|function| *function.name == *key.function);
        let owner = demangle(&key.function);
        let (kind, mut variable) = match allocation {
            Some((allocation, variable)) => (StackObjectKind::Allocation(Box::new(allocation)), variable),
            None => (StackObjectKind::Variable, named),
        };
        if self.facts.is_without_log {
            // Line tables of a cubin have no columns. A parameter on the same line, such as a pointer in a structure,
            // may only be used next to the array.
            let is_copy = matches!(raw.stored_values, StoredValues::Parameter(_));
            let is_beside = |it: &Variable| !is_copy && it.is_parameter && it.bytes.is_none() && it.name.contains('.');
            variable = variable.filter(|variable| !is_beside(variable));
        }
        if let Some(variable) = &mut variable {
            let ptx = &self.facts.ptx;
            variable.type_text = if is_own {
                bind(&variable.type_text, own_parameters, &template_arguments(&frame.name))
            } else {
                let described = ptx.function(&key.function).and_then(|function| describe(function, ptx, self.trees));
                let parameters = described.and_then(|described| Some(described.syntax?.1.template_parameters));
                bind(&variable.type_text, &parameters.unwrap_or_default(), &template_arguments(&owner))
            };
        }
        FrameObject {
            key: Some(key),
            is_library: raw.is_library,
            shares_library: raw.shares_library,
            argument_of: raw.passed_to,
            stored_values: raw.stored_values,
            variable,
            accesses: raw.accesses,
            escapes: raw.escapes,
            function: (!is_own).then_some(owner),
            ..FrameObject::new(kind, raw.bytes)
        }
    }
}

/// Whether an object is a parameter of the function that owns the frame.
fn is_parameter_of(function: Option<&PtxFunction>, key: &ObjectKey) -> bool {
    function.filter(|function| *function.name == *key.function).is_some_and(|function| {
        function.local_variables.get(key.variable).is_some_and(|variable| variable.parameter.is_some())
    })
}

/// Whether an object comes from the source: inline assembly may have its own local variables.
fn is_of_source(function: &PtxFunction, key: &ObjectKey) -> bool {
    function.local_variables.get(key.variable).is_some_and(PtxVariable::is_depot)
}

/// Padding from the alignment of the frames of some functions, and of the stack pointer if the kernel aligns it.
fn padding(kernel: &KernelFacts, functions: usize) -> u64 {
    MAX_PADDING * functions as u64 + kernel.stack_alignment.saturating_sub(STACK_ALIGNMENT)
}
