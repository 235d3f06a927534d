//! Inline assembly in what was compiled: whether it may do more than give its results.

/// Instructions that read registers, and write others.
const ARITHMETIC: &str = "abs add and bfe bfi bfind bmsk brev clz cnot copysign cos cvt div dp2a dp4a ex2 fma fns lg2 lop3 mad mad24 max min mov mul mul24 neg not or popc prmt rcp rem rsqrt sad selp set setp shf shl shr sin slct sqrt sub szext tanh testp xor";

/// Whether inline assembly in a kernel, or in a function that it may call, has anything but arithmetic. `add.cc` leaves a carry, a store or a barrier an effect: the compiler
/// knows of neither, and takes the code away, or moves it, unless it is `asm volatile`, or a `volatile` variable gets its result. What reads
/// clocks counts where it may be the user's (`is_own`).
pub fn may_have_effects(ptx: &str, kernel: &str, is_own: bool) -> bool {
    let mut parts = ptx.split(".entry ");
    let before = parts.next().unwrap_or("");
    // Behind another kernel's end, functions may follow.
    let own =
        parts.map(|part| match part.strip_prefix(kernel).is_some_and(|rest| rest.trim_start().starts_with('(')) {
            true => part,
            false => part.split_once("\n}").map_or("", |(_, behind)| behind),
        });
    std::iter::once(before).chain(own).any(|ptx| has_effects(ptx, is_own))
}

fn has_effects(ptx: &str, is_own: bool) -> bool {
    let blocks =
        ptx.split("// begin inline asm").skip(1).map(|rest| rest.split("// end inline asm").next().unwrap_or(rest));
    blocks.flat_map(|block| block.split([';', '\n'])).any(|statement| !is_arithmetic(statement, is_own))
}

fn is_arithmetic(statement: &str, is_own: bool) -> bool {
    let code = statement.split("//").next().unwrap_or("").trim_matches([' ', '\t', '{', '}']);
    let mut words = code.split_whitespace().skip_while(|word| word.starts_with('@'));
    let Some(opcode) = words.next() else { return true };
    let base = opcode.split('.').next().unwrap_or("");
    // `.reg .b16 low;`
    let is_declaration = opcode == ".reg";
    // Clocks and counters are read by `mov`.
    let is_counted = is_own && (code.contains("%clock") || code.contains("timer") || code.contains("%pm"));
    let is_known = ARITHMETIC.split(' ').any(|known| known == base);
    is_declaration || (is_known && !opcode.contains(".cc") && !is_counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gives_results_alone() {
        let block = |body: &str| {
            format!("\tst.global.u32 [%rd1], %r1;\n\t// begin inline asm\n\t{body}\n\t// end inline asm\n\tret;\n")
        };
        for body in [
            "{add.f16x2 %r1,%r2,%r3;\n}",
            "{.reg .b16 low;\n mov.b32 {low,_}, %r1;\n cvt.f32.f16 %f1, low;}",
            "@%p1 mov.u32 %r1, 3;",
            "lop3.b32 %r1, %r2, %r3, %r4, 0x96;",
            "",
        ] {
            assert!(!has_effects(&block(body), true), "{body}");
        }
        for body in [
            "add.cc.u32 %r1, %r1, %r2;",
            "mad.lo.cc.u32 %r1, %r1, %r2, %r3;",
            "addc.u32 %r1, %r1, 0;",
            "st.global.u32 [%rd1], %r2; mov.u32 %r3, 0;",
            "mov.u64 %rd1, %clock64;",
            "bar.sync 0;",
            "ld.global.nc.u32 %r1, [%rd1];",
            "unknown.b32 %r1, %r2;",
        ] {
            assert!(has_effects(&block(body), true), "{body}");
        }
        assert!(!has_effects(&block("mov.u64 %rd1, %clock64;"), false));
        assert!(has_effects(&block("bar.sync 0;"), false));
        assert!(!has_effects("\tst.global.u32 [%rd1], %r1;\n", true));
    }

    #[test]
    fn those_of_other_kernels_do_not_count() {
        let block = "// begin inline asm\n\taddc.u32 %r1, %r1, 0;\n\t// end inline asm\n\tret;\n";
        let ptx = |one: &str, other: &str, function: &str| {
            format!(
                ".visible .entry k(\n\t.param .u64 p\n)\n{{\n{one}}}\n.visible .entry k2(\n)\n{{\n{other}}}\n.func f()\n{{\n{function}}}\n"
            )
        };
        assert!(may_have_effects(&ptx(block, "", ""), "k", true));
        assert!(!may_have_effects(&ptx("", block, ""), "k", true));
        assert!(may_have_effects(&ptx("", "", block), "k", true));
    }
}
