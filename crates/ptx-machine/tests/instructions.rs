//! Single instructions with edge-case operands. Results that are not obvious were taken from an H100
//! (`examples/judge`).

use ptx_machine::{End, Launch, Memory, Program};
use ptx_syntax::Module;

/// Executes one instruction: `{d}` is the result; `{a}`, `{b}`, `{c}` are registers of type `ty` with the operands.
fn compute(instruction: &str, result: &str, operands: &[(&str, u64)]) -> u64 {
    let mut body = String::new();
    let mut text = instruction.to_string();
    for ((name, slot), (ty, value)) in ["a", "b", "c", "e"].iter().zip(["{a}", "{b}", "{c}", "{e}"]).zip(operands) {
        body.push_str(&format!(".reg .{ty} %{name}; mov.{ty} %{name}, {value:#x};\n"));
        text = text.replace(slot, &format!("%{name}"));
    }
    let text = format!(
        ".version 8.0\n.target sm_90\n.entry k(.param .u64 p) {{ .reg .b64 %p; .reg .{result} %d; ld.param.u64 %p, [p];\n{body}{};\n\
         st.global.{result} [%p], %d; ret; }}",
        text.replace("{d}", "%d")
    );
    let module = Module::parse(&text).unwrap();
    let mut memory = Memory::default();
    let region = memory.parameter(0);
    let launch = Launch::new(1, 1).parameter(region.address().to_le_bytes());
    let outcome = Program::new(&module, "k").unwrap().run(&launch, &mut memory);
    assert_eq!(outcome.end, End::Completed, "{instruction}");
    let bytes = memory.bytes(region, 0, 8).unwrap();
    u64::from_le_bytes(bytes.try_into().unwrap())
}

fn words(instruction: &str, operands: &[u64]) -> u64 {
    let operands: Vec<(&str, u64)> = operands.iter().map(|value| ("b32", *value)).collect();
    let slots = ["{a}", "{b}", "{c}", "{e}"];
    compute(&format!("{instruction} {{d}}, {}", slots[..operands.len()].join(", ")), "b32", &operands)
}

fn doubles(instruction: &str, operands: &[u64]) -> u64 {
    let operands: Vec<(&str, u64)> = operands.iter().map(|value| ("b64", *value)).collect();
    let slots = ["{a}", "{b}", "{c}", "{e}"];
    compute(&format!("{instruction} {{d}}, {}", slots[..operands.len()].join(", ")), "b64", &operands)
}

const NAN: u64 = 0x7fff_ffff;
const ONE: u64 = 0x3f80_0000;
const INFINITY: u64 = 0x7f80_0000;

#[test]
fn integers_at_their_limits() {
    assert_eq!(words("div.s32", &[0x8000_0000, 0xffff_ffff]), 0x8000_0000);
    assert_eq!(words("rem.s32", &[0x8000_0000, 0xffff_ffff]), 0);
    assert_eq!(words("div.u32", &[7, 0]), 0xffff_ffff);
    assert_eq!(words("rem.u32", &[7, 0]), 0xffff_ffff);
    assert_eq!(words("rem.s32", &[0xffff_fff9, 4]), 0xffff_fffd);
    assert_eq!(words("abs.s32", &[0x8000_0000]), 0x8000_0000);
    assert_eq!(words("add.sat.s32", &[0x7fff_ffff, 1]), 0x7fff_ffff);
    assert_eq!(words("mul.hi.s32", &[0x8000_0000, 0x8000_0000]), 0x4000_0000);
    assert_eq!(words("mad.hi.sat.s32", &[0x7fff_ffff, 0x7fff_ffff, 0x7fff_ffff]), 0x7fff_ffff);
    assert_eq!(doubles("mul.hi.u64", &[u64::MAX, u64::MAX]), u64::MAX - 1);
    assert_eq!(words("mul24.lo.s32", &[0x0080_0000, 2]), 0xff00_0000);
    assert_eq!(compute("mul.wide.s16 {d}, {a}, {b}", "b32", &[("b16", 0xffff), ("b16", 2)]), 0xffff_fffe);
    assert_eq!(words("dp4a.s32.u32", &[0xff01_0203, 0x0101_0101, 10]), 15);
}

#[test]
fn shifts_and_fields() {
    assert_eq!(words("shl.b32", &[1, 32]), 0);
    assert_eq!(words("shr.s32", &[0x8000_0000, 99]), 0xffff_ffff);
    assert_eq!(words("shr.u32", &[0x8000_0000, 31]), 1);
    assert_eq!(words("shf.l.wrap.b32", &[0x8000_0001, 0x7000_0000, 33]), 0xe000_0001);
    assert_eq!(words("shf.r.clamp.b32", &[1, 0xabcd, 40]), 0xabcd);
    assert_eq!(words("bfe.s32", &[0x0000_0080, 4, 4]), 0xffff_fff8);
    assert_eq!(words("bfe.u32", &[0xffff_ffff, 30, 8]), 3);
    assert_eq!(words("bfi.b32", &[0xf, 0, 30, 8]), 0xc000_0000);
    assert_eq!(words("bfind.s32", &[0xffff_ffff]), 0xffff_ffff);
    assert_eq!(words("bfind.shiftamt.u32", &[0x10]), 27);
    assert_eq!(words("clz.b32", &[0]), 32);
    assert_eq!(words("brev.b32", &[1]), 0x8000_0000);
    assert_eq!(words("prmt.b32", &[0x8122_3344, 0x5566_7788, 0xb3f0]), 0xff81_0044 & 0xffff_ffff);
    assert_eq!(
        compute("lop3.b32 {d}, {a}, {b}, {c}, 0x96", "b32", &[("b32", 12), ("b32", 10), ("b32", 6)]),
        12 ^ 10 ^ 6
    );
    assert_eq!(
        compute(
            "add.cc.u32 {d}, {a}, {b}; addc.u32 {d}, {c}, 0",
            "b32",
            &[("b32", 0xffff_ffff), ("b32", 1), ("b32", 5)]
        ),
        6
    );
    assert_eq!(
        compute("sub.cc.u32 {d}, {a}, {b}; subc.u32 {d}, {c}, 0", "b32", &[("b32", 0), ("b32", 1), ("b32", 5)]),
        4
    );
}

#[test]
fn singles_round_flush_and_saturate() {
    assert_eq!(words("add.rp.f32", &[ONE, 1]), ONE + 1);
    assert_eq!(words("add.rm.f32", &[ONE, ONE ^ 0x8000_0000]), 0x8000_0000);
    assert_eq!(words("add.ftz.f32", &[1, 1]), 0);
    assert_eq!(words("add.f32", &[1, 1]), 2);
    // The exact product is subnormal, and rounding makes it the smallest normal number.
    assert_eq!(words("mul.ftz.f32", &[0x0080_0000, 0x3f7f_ffff]), 0);
    assert_eq!(words("fma.rn.ftz.f32", &[0x0080_0000, 0x8080_0000, 0x0080_0000]), 0x0080_0000);
    assert_eq!(words("add.sat.f32", &[NAN, ONE]), 0);
    assert_eq!(words("mul.sat.f32", &[0x4040_0000, ONE]), ONE);
    assert_eq!(words("add.f32", &[INFINITY, INFINITY | 0x8000_0000]), NAN);
    assert_eq!(words("fma.rn.f32", &[0x3f80_0001, 0x3f80_0001, 0xbf80_0002]), 0x2880_0000);
    assert_eq!(words("div.rz.f32", &[ONE, 0x4040_0000]), 0x3eaa_aaaa);
    assert_eq!(words("sqrt.rp.f32", &[0x4000_0000]), 0x3fb5_04f4);
    assert_eq!(doubles("add.rz.f64", &[0x3ff0_0000_0000_0000, 0xbc90_0000_0000_0000]), 0x3fef_ffff_ffff_ffff);
}

#[test]
fn no_numbers_in_minima_comparisons_and_tests() {
    assert_eq!(words("min.f32", &[0x7fc0_0000, ONE]), ONE);
    assert_eq!(words("min.NaN.f32", &[0x7fc0_0000, ONE]), NAN);
    assert_eq!(words("max.f32", &[0x8000_0000, 0]), 0);
    assert_eq!(words("max.xorsign.abs.f32", &[0xc000_0000, ONE]), 0xc000_0000);
    assert_eq!(words("neg.f32", &[0x7fc0_0000]), NAN);
    assert_eq!(words("copysign.f32", &[0x8000_0000, ONE]), ONE | 0x8000_0000);
    let compare = |text: &str, a, b| {
        compute(
            &format!(".reg .pred %q; {text} %q, {{a}}, {{b}}; selp.b32 {{d}}, 1, 0, %q"),
            "b32",
            &[("b32", a), ("b32", b)],
        )
    };
    assert_eq!(compare("setp.lt.f32", NAN, ONE), 0);
    assert_eq!(compare("setp.geu.f32", NAN, ONE), 1);
    assert_eq!(compare("setp.eq.f32", 0, 0x8000_0000), 1);
    assert_eq!(compare("setp.eq.ftz.f32", 1, 0), 1);
    assert_eq!(compare("setp.lo.u32", 1, 0xffff_ffff), 1);
    assert_eq!(compare("setp.lt.s32", 1, 0xffff_ffff), 0);
}

#[test]
fn conversions() {
    assert_eq!(words("cvt.rzi.s32.f32", &[0x4f80_0000]), 0x7fff_ffff);
    assert_eq!(words("cvt.rzi.u32.f32", &[0xbf80_0000]), 0);
    assert_eq!(words("cvt.rni.s32.f32", &[0x4020_0000]), 2);
    assert_eq!(words("cvt.rzi.s32.f32", &[NAN]), 0);
    assert_eq!(words("cvt.rn.f32.u32", &[0xffff_ffff]), 0x4f80_0000);
    assert_eq!(words("cvt.rmi.f32.f32", &[0xbf00_0000]), 0xbf80_0000);
    assert_eq!(words("cvt.s32.s8", &[0x80]), 0xffff_ff80);
    assert_eq!(words("cvt.sat.u8.s32", &[0xffff_ffff]), 0);
    assert_eq!(compute("cvt.rn.f16.f32 {d}, {a}", "b16", &[("b32", 0x477f_f000)]), 0x7c00);
    assert_eq!(compute("cvt.rn.f16x2.f32 {d}, {a}, {b}", "b32", &[("b32", ONE), ("b32", 0x4000_0000)]), 0x3c00_4000);
    assert_eq!(compute("cvt.rzi.s64.f64 {d}, {a}", "b64", &[("b64", 0x7ff8_0000_0000_0000)]), 1 << 63);
    assert_eq!(compute("cvt.rn.f32.f64 {d}, {a}", "b32", &[("b64", 0x7ff8_0000_0000_0000)]), 0x7fc0_0000);
}

#[test]
fn approximations_are_near() {
    let near = |instruction: &str, a: f32, expected: f32| {
        let is = f32::from_bits(words(instruction, &[u64::from(a.to_bits())]) as u32);
        assert!((is - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{instruction} {a}: {is} {expected}");
    };
    near("ex2.approx.f32", 3.5, 3.5f32.exp2());
    near("lg2.approx.f32", 10.0, 10f32.log2());
    near("sin.approx.f32", 1.0, 1f32.sin());
    near("rsqrt.approx.f32", 3.0, 1.0 / 3f32.sqrt());
    near("tanh.approx.f32", 0.5, 0.5f32.tanh());
    assert_eq!(words("rcp.approx.f32", &[0]), INFINITY);
    assert_eq!(words("ex2.approx.ftz.f32", &[INFINITY | 0x8000_0000]), 0);
}
