//! Parses literal texts, compiled kernels, and invalid input.

use ptx_syntax::*;

const MODULE: &str = r#"//
.version 9.5
.target sm_90
.visible .entry _Z4histPKiPii(
	.param .u64 .ptr .align 1 _Z4histPKiPii_param_0,
	.param .u32 _Z4histPKiPii_param_2
)
.maxntid 256, 2, 1
.minnctapersm 2
{
	.local .align 16 .b8 	__local_depot1[64];
	.reg .b64 	%SPL;
	.loc	1 34 0
	mov.u64 	%SPL, __local_depot1;
	add.u64 	%rd1, %SPL, 0; add.u64 %rd2, %rd1, 4;
	.loc	2 107 1, function_name $L__info_string0, inlined_at 1 38 3
$L__BB1_2:
	@!%p1 st.local.v4.u32 	[%rd1+16], {%r1, %r2, %r3, %r4};
	{ // callseq 0, 0
	.param .b64 param0;
	st.param.b64 	[param0], %rd1;
	call.uni
	_Z3fooPf,
	(
	param0
	);
	} // callseq 0
	/* two
	lines */
	bra $L__BB1_2;
}
.file	1 "/src/a \"\303\274.cu"
	.section	.debug_str
	{
$L__info_string0:
.b8 95,90,0
	}"#;

fn function(body: &str) -> Function {
    let text = format!(".entry k()\n{{\n{body}\n}}\n");
    let module = Module::parse(&text).unwrap();
    module.functions.into_iter().next().unwrap()
}

fn reg(function: &Function, name: &str) -> Reg {
    function.register_named(name).unwrap_or_else(|| panic!("{name} is mentioned"))
}

#[test]
fn reads_functions_variables_and_places() {
    let module = Module::parse(MODULE).unwrap();
    assert_eq!((module.target.as_deref(), module.version), (Some("sm_90"), Some((9, 5))));
    let function = module.function("_Z4histPKiPii").unwrap();
    assert!(function.is_entry && function.linkage == Linkage::Visible);
    assert_eq!((function.max_thread_count(), function.min_blocks), (Some(512), Some(2)));
    let depot = function.variables.iter().find(|variable| variable.is_depot()).unwrap();
    assert_eq!((depot.bytes, depot.align), (64, 16));
    assert_eq!(function.lines, Some(4..=31));
    let opcodes: Vec<&str> = function.instructions.iter().map(|i| &*i.form.text).collect();
    assert_eq!(opcodes, ["mov.u64", "add.u64", "add.u64", "st.local.v4.u32", "st.param.b64", "call.uni", "bra"]);
    let store = &function.instructions[3];
    assert_eq!(store.guard, Some(Guard { register: reg(function, "%p1"), negated: true }));
    let address = store.address().unwrap();
    assert_eq!((&address.base, address.offset), (&AddressBase::Reg(reg(function, "%rd1")), 16));
    assert_eq!((store.form.space(), store.form.vector(), store.element_bytes()), (Space::Local, 4, Some(4)));
    let chain = function.location_chain(store.location.unwrap() as usize);
    assert_eq!(chain.iter().map(|location| location.line).collect::<Vec<_>>(), [107, 38]);
    assert_eq!(chain[0].function.as_deref(), Some("_Z"));
    assert_eq!(function.targets(&function.instructions[6]), [3]);
    assert_eq!(module.files[&1], "/src/a \"ü.cu");
    let inputs: Vec<(u64, bool)> = function.inputs().map(|(_, input)| (input.bytes, input.pointer.is_some())).collect();
    assert_eq!(inputs, [(8, true), (4, false)]);
    let Some(call) = function.instructions[5].call() else { panic!("a call") };
    assert_eq!(*call.callee, Operand::Symbol("_Z3fooPf".into(), 0));
    let [Operand::Variable(argument, 0)] = call.inputs else { panic!("{:?}", call.inputs) };
    assert_eq!(&*function.variable(*argument).name, "param0");
}

#[test]
fn lines_find_their_instruction() {
    let module = Module::parse(MODULE).unwrap();
    let function = module.function_at(24).unwrap();
    assert_eq!(function.instruction_at(24), Some(5));
    assert_eq!(function.instructions[5].lines(), 22..=26);
    assert!(module.function_at(40).is_none());
}

#[test]
fn statements_are_taken_up_again_where_they_are_inlined() {
    let function = function(
        ".loc 1 7 5, function_name $L__info_string0, inlined_at 1 19 9\nmov.u32 %r1, 0;\n.loc 1 0 5\n\
         mov.u32 %r2, 0;\n.loc 1 7 5\nmov.u32 %r3, 0;\n.loc 1 20 9\nmov.u32 %r4, 0;\n.loc 1 7 5\nmov.u32 %r5, 0;",
    );
    let chains = function.instructions.iter().map(|instruction| {
        let chain = function.location_chain(instruction.location.unwrap() as usize);
        chain.iter().map(|location| location.line).collect::<Vec<_>>()
    });
    assert_eq!(chains.collect::<Vec<_>>(), [vec![7, 19], vec![0], vec![7, 19], vec![20], vec![7]]);
}

#[test]
fn pragmas_and_dynamic_shared_memory_are_read() {
    let text = ".extern .shared .align 16 .b8 tile[];\n.entry k()\n{\n.pragma \"enable_smem_spilling\", \"x\";\n\
                mov.u32 %r1, tile;\n.pragma \"nounroll\";\nld.shared.f32 %f1, [tile_2+4];\n}\n";
    let module = Module::parse(text).unwrap();
    let function = module.function("k").unwrap();
    assert_eq!(function.pragmas[2], ("nounroll".to_string(), 1));
    assert_eq!(module.extern_shared().collect::<Vec<_>>(), ["tile"]);
    assert!(function.mentions("tile") && function.mentions("tile_2") && !function.mentions("til"));
}

#[test]
fn tables_have_their_values_and_names() {
    let module = Module::parse(
        ".global .align 8 .u64 table[3] = {f, generic(x)+8};\n.const .align 4 .f32 t[2][3] = {{0f3F800000}, {-1.5, 2}};\n\
         .global .u32 a = 7, b;\n.visible .func (.param .b32 r) f(.param .align 8 .b8 s[24]) .noreturn { ret; }\n",
    )
    .unwrap();
    let address = |name: &str, offset, generic| InitialValue::Address { name: name.into(), offset, generic };
    assert_eq!(module.variables[0].initial.others(), [(0, address("f", 0, false)), (1, address("x", 8, true))]);
    let numbers = [1.0f32, 0.0, 0.0, -1.5].map(f32::to_le_bytes).concat();
    assert_eq!(module.variables[1].initial.bytes(), numbers);
    assert_eq!(module.variables[1].initial.others(), [(4, InitialValue::Integer(2))]);
    assert_eq!((module.variables[1].bytes, module.variables[1].space), (24, Space::Const));
    assert_eq!((&*module.variables[3].name, module.variables[3].ty), ("b", Type::U32));
    assert!(module.is_address_taken("f") && !module.is_address_taken("g"));
    let function = module.function("f$1").unwrap();
    assert!(function.is_noreturn);
    assert_eq!(function.outputs().next().unwrap().1.bytes, 4);
    assert_eq!(function.inputs().next().unwrap().1.bytes, 24);
}

#[test]
fn names_of_blocks_are_their_own() {
    let function = function(
        ".reg .b32 %r<3>, x;\nmov.b32 x, 1;\n{ .reg .b32 x; L: mov.b32 x, 2; bra L; }\n{ L: bra L; bra OUT; }\nmov.b32 %r1, x;\nOUT: ret;",
    );
    let defined: Vec<Vec<Reg>> = function.instructions.iter().map(Instruction::defs).collect();
    assert_ne!(defined[0], defined[1]);
    assert_eq!(function.instructions[5].uses(), defined[0]);
    let targets: Vec<Vec<u32>> = function.instructions.iter().map(|i| function.targets(i)).collect();
    assert_eq!((&targets[2][..], &targets[3][..], &targets[4][..]), (&[1][..], &[3][..], &[6][..]));
    assert_eq!(function.register(Reg(0)).ty, Some(Type::B32));
}

#[test]
fn indirect_branches_and_calls_have_their_tables() {
    let function = function(
        "T: .branchtargets A, B, A;\nbrx.idx %r1, T;\nA: mov.b32 %r2, 1;\nB: { .param .b32 retval0;\n\
         prototype_1 : .callprototype (.param .b32 _) _ (.param .b64 _);\ncall (retval0), %rd1, (param0), prototype_1; }\nalloca.u64 %rd2, %rd1, 16;\nret;",
    );
    assert_eq!(function.targets(&function.instructions[0]), [1, 2, 1]);
    let call = function.instructions[2].call().unwrap();
    assert_eq!(call.prototype, Some(Prototype(0)));
    assert_eq!(function.prototypes[0].inputs[0].bytes, 8);
    assert_eq!(function.returned_bytes(&function.instructions[2]), Some(4));
    assert_eq!(function.instructions[3].defs(), [reg(&function, "%rd2")]);
}

#[test]
fn operands_of_every_kind() {
    let function = function(
        "setp.lt.and.f32 %p1|%p2, %f1, 0f3F800000, !%p3;\nmov.u32 %r1, %tid.x;\nmov.b64 {%r2, _}, %rd1;\nadd.s64 %rd2, %rd1, -8;\n\
         ld.u32 %r3, [%rd1+-4];\nld.const.u32 %r3, [c - 8];\nst.global.u32 [16], %r4;\ntex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, {%f5, %f6}];\n\
         vadd.s32.s32.s32 %r1, %r2.b0, %r3.h1;\nmov.u64 %rd3, table+16;\nshfl.sync.bfly.b32 %r5|%p4, %r6, 16, 31, -1;",
    );
    let name = |register: Reg| function.register(register).name.to_string();
    let names = |registers: Vec<Reg>| registers.into_iter().map(name).collect::<Vec<_>>();
    assert_eq!(names(function.instructions[0].defs()), ["%p1", "%p2"]);
    assert_eq!(names(function.instructions[0].uses()), ["%f1", "%p3"]);
    assert_eq!(function.instructions[1].operands[1], Operand::Special(SpecialRegister::TidX));
    assert_eq!(names(function.instructions[2].defs()), ["%r2"]);
    assert_eq!(function.instructions[3].operands[2], Operand::Imm(-8));
    assert_eq!(function.instructions[4].address().unwrap().offset, -4);
    assert_eq!(function.instructions[5].address().unwrap().base, AddressBase::Symbol("c".into()));
    assert_eq!(function.instructions[5].address().unwrap().offset, -8);
    assert_eq!(function.instructions[6].address().unwrap().base, AddressBase::Absolute);
    assert_eq!(names(function.instructions[6].uses()), ["%r4"]);
    assert_eq!(names(function.instructions[7].uses()), ["%f5", "%f6"]);
    assert_eq!(names(function.instructions[8].uses()), ["%r2", "%r3"]);
    assert_eq!(function.instructions[9].operands[1], Operand::Symbol("table".into(), 16));
    assert_eq!(names(function.instructions[10].defs()), ["%r5", "%p4"]);
}

#[test]
fn unknown_instructions_are_kept() {
    let function = function("frobnicate.u32.quickly %r1, %r2, <what>;\nret;");
    let unknown = &function.instructions[0];
    assert_eq!((unknown.opcode(), unknown.form.is_known()), (Opcode::Unknown, false));
    assert!(matches!(unknown.operands[2], Operand::Opaque(_)));
    assert_eq!(unknown.form.mnemonic(), "frobnicate");
    assert_eq!(function.instructions.len(), 2);
}

fn data() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap())).collect()
}

#[test]
fn all_of_compiled_kernels_is_known() {
    let files = data();
    assert!(files.len() >= 3);
    for (path, text) in files {
        let module = Module::parse(&text).unwrap();
        assert!(!module.functions.is_empty(), "{path}");
        for function in &module.functions {
            for instruction in &function.instructions {
                let line = instruction.first_line;
                assert!(instruction.form.is_known(), "{path}:{line}: {}", instruction.form.text);
                let is_read = |operand: &Operand| !matches!(operand, Operand::Opaque(_));
                assert!(instruction.operands.iter().all(is_read), "{path}:{line}: {:?}", instruction.operands);
                let is_typed = |register: Reg| function.register(register).ty.is_some();
                assert!(instruction.defs().into_iter().all(is_typed), "{path}:{line}");
            }
        }
    }
}

/// A small pseudo-random generator, with the same sequence on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % below.max(1)
    }
}

#[test]
fn nonsense_does_not_stop_the_reading() {
    for text in [
        "}}}}",
        "{",
        ".entry {",
        "\"",
        "/*",
        ".loc",
        ".file x",
        "@",
        ".local",
        "\\\"\\ü",
        ".visible .entry k()\n{ ld.local [; }",
        ".entry k() { mov ((((((((((((((( }",
        ".entry k() { a ]]], )), {{{; b }",
        ".func ( f (",
        ".reg .b32 %r<99999999999>;",
        ".entry k() { .reg .b32 %r<18446744073709551615>; mov.b32 %r7, -; @ @ !; L: L: bra L; }",
        ".global .b8 x[99999999999999999999][9] = {{{{{{{{{{{{{{{{{{{{{{1}}}",
        ".entry k() { prototype : .callprototype ((( ; x: .branchtargets a,,b; brx.idx %r, x; }",
        ".shared",
        ".entry k(.param .u64 .ptr .align",
        ".entry k() { .pragma \"",
        ".alias a",
        ".entry k() { .reg .v4 .f32 v; mov v, v.x; }",
    ] {
        let module = Module::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        exercise(&module);
    }
}

fn exercise(module: &Module) {
    for function in &module.functions {
        let graph = Graph::new(function);
        graph.post_dominators();
        Loops::new(&graph, &graph.dominators());
        for instruction in &function.instructions {
            instruction.defs();
            instruction.uses();
        }
    }
}

#[test]
fn damaged_texts_are_read_without_panic() {
    let mut random = Random(1);
    for (_, text) in data() {
        // Only a part of each text, to keep the test fast.
        let bytes = &text.as_bytes()[..text.len().min(6_000)];
        for _ in 0..150 {
            let mut damaged = bytes.to_vec();
            for _ in 0..1 + random.next(8) {
                let at = random.next(damaged.len());
                match random.next(3) {
                    0 => drop(damaged.remove(at)),
                    1 => damaged[at] = b"{}()[];,:.\"%@!|<>/*-+ 0xL\n"[random.next(26)],
                    _ => {
                        let end = (at + random.next(200)).min(damaged.len());
                        damaged.drain(at..end);
                    }
                }
            }
            if let Ok(module) = Module::parse(&String::from_utf8_lossy(&damaged)) {
                exercise(&module);
            }
        }
    }
}

#[test]
fn hostile_sizes_are_bounded_in_time() {
    let deep = format!(".entry k() {{ {}", "{".repeat(100_000));
    assert_eq!(Module::parse(&deep).err(), Some(ParseError::TooDeep));
    let brackets = format!(".entry k() {{ mov {}; ret; }}", "[({".repeat(100_000));
    exercise(&Module::parse(&brackets).unwrap());
    // Each label starts a block, and each block jumps to the one before: 100,000 nested loops.
    let nested: String = (0..100_000).map(|i| format!("L{i}: nop;\n")).collect();
    let back: String = (0..100_000).rev().map(|i| format!("@%p1 bra L{i};\n")).collect();
    let start = std::time::Instant::now();
    exercise(&Module::parse(&format!(".entry k() {{ {nested}{back} }}")).unwrap());
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
