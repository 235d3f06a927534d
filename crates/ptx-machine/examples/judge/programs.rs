//! Kernels of a single instruction, and their operands.

/// The type of an operand or result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Int16,
    Int32,
    Int64,
    Half,
    Brain,
    HalfPair,
    BrainPair,
    Single,
    Double,
    Predicate,
    /// A shift amount or a bit position.
    Small,
    /// Eight-bit floats, two in a 16-bit word.
    Bytes,
}

/// The tolerance for a result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Near {
    Equal,
    /// Units in the last place of an `f32`.
    Ulp(u64),
    /// Relative error of an `f64`.
    Relative(f64),
    /// Absolute error of an `f32` function, if it has one.
    Absolute(f32),
    /// Units in the last place of an `f16`.
    HalfUlp(u64),
}

pub struct Single {
    /// The instruction, with `{d}`, `{a}`, `{b}`, `{c}` for its operands.
    pub text: String,
    pub result: Kind,
    pub operands: Vec<Kind>,
    pub near: Near,
}

impl Kind {
    fn register(self) -> (&'static str, &'static str) {
        match self {
            Self::Int16 | Self::Half | Self::Brain | Self::Bytes => (".b16", "h"),
            Self::Int32 | Self::HalfPair | Self::BrainPair | Self::Single | Self::Small => (".b32", "r"),
            Self::Int64 | Self::Double => (".b64", "d"),
            Self::Predicate => (".pred", "p"),
        }
    }

    /// Values that are critical for rounding, overflow and comparison.
    pub fn special(self) -> &'static [u64] {
        match self {
            Self::Int16 => &[0, 1, 2, 7, 0x7f, 0x80, 0xff, 0x100, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff],
            Self::Int32 => &[
                0,
                1,
                2,
                3,
                7,
                31,
                32,
                33,
                0x7f,
                0x80,
                0xff,
                0xffff,
                0x10000,
                0x7f_ffff,
                0x80_0000,
                0xff_ffff,
                0x7fff_fffe,
                0x7fff_ffff,
                0x8000_0000,
                0x8000_0001,
                0xffff_fffe,
                0xffff_ffff,
                0x0102_0304,
                0x8080_8080,
                0x4b00_0001,
            ],
            Self::Int64 => &[
                0,
                1,
                2,
                7,
                63,
                64,
                0x7fff_ffff,
                0x8000_0000,
                0xffff_ffff,
                0x1_0000_0000,
                0x7fff_ffff_ffff_ffff,
                0x8000_0000_0000_0000,
                0x8000_0000_0000_0001,
                0xffff_ffff_ffff_fffe,
                0xffff_ffff_ffff_ffff,
                0x0123_4567_89ab_cdef,
                0x20_0000_0000_0001,
                0xffff_ffff_8000_0000,
                0x80_0000_8000_0001,
            ],
            Self::Half | Self::Bytes => &[
                0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x8400, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x4000, 0x4248, 0x7bff,
                0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xfe01, 0x3800, 0x3555, 0x6400, 0x1400,
            ],
            Self::Brain => &[
                0, 0x8000, 1, 0x8001, 0x7f, 0x80, 0x3f80, 0xbf80, 0x3f81, 0x3f7f, 0x4000, 0x4049, 0x7f7f, 0xff7f,
                0x7f80, 0xff80, 0x7fc0, 0x7f81, 0x3f00, 0x3eab, 0x4b00, 0x0100,
            ],
            Self::Single => &[
                0,
                0x8000_0000,
                1,
                0x8000_0001,
                0x007f_ffff,
                0x807f_ffff,
                0x0080_0000,
                0x8080_0000,
                0x0080_0001,
                0x3f80_0000,
                0xbf80_0000,
                0x3f80_0001,
                0x3f7f_ffff,
                0x4000_0000,
                0x4049_0fdb,
                0x3f00_0000,
                0xbf00_0000,
                0x3fc0_0000,
                0x4020_0000,
                0xc020_0000,
                0x4b00_0000,
                0x4b00_0001,
                0x4b80_0000,
                0x4f00_0000,
                0x4eff_ffff,
                0xcf00_0000,
                0xcf00_0001,
                0x4f80_0000,
                0x5f00_0000,
                0xdf00_0000,
                0x5f80_0000,
                0x7f7f_ffff,
                0xff7f_ffff,
                0x7f80_0000,
                0xff80_0000,
                0x7fc0_0000,
                0x7f80_0001,
                0xffc0_1234,
                0x3380_0000,
                0x3300_0000,
                0x7e80_0000,
                0x7f00_0000,
                0x477f_e000,
                0x477f_f000,
                0x3700_0000,
                0x3880_0000,
                0x42fe_0000,
                0x437f_0000,
                0xc300_8000,
                0x42b1_7218,
            ],
            Self::Double => &[
                0,
                0x8000_0000_0000_0000,
                1,
                0x8000_0000_0000_0001,
                0x000f_ffff_ffff_ffff,
                0x0010_0000_0000_0000,
                0x3ff0_0000_0000_0000,
                0xbff0_0000_0000_0000,
                0x3ff0_0000_0000_0001,
                0x3fef_ffff_ffff_ffff,
                0x4000_0000_0000_0000,
                0x4009_21fb_5444_2d18,
                0x3fe0_0000_0000_0000,
                0x3ff8_0000_0000_0000,
                0x4004_0000_0000_0000,
                0xc004_0000_0000_0000,
                0x4330_0000_0000_0000,
                0x4330_0000_0000_0001,
                0x41df_ffff_ffc0_0000,
                0x41e0_0000_0000_0000,
                0xc1e0_0000_0020_0000,
                0x43e0_0000_0000_0000,
                0xc3e0_0000_0000_0000,
                0x43f0_0000_0000_0000,
                0x7fef_ffff_ffff_ffff,
                0xffef_ffff_ffff_ffff,
                0x7ff0_0000_0000_0000,
                0xfff0_0000_0000_0000,
                0x7ff8_0000_0000_0000,
                0x7ff0_0000_0000_0001,
                0x47ef_ffff_e000_0000,
                0x47ef_ffff_f000_0000,
                0x36a0_0000_0000_0000,
                0x3690_0000_0000_0000,
                0x380f_ffff_f000_0000,
                0x3810_0000_0000_0000,
            ],
            Self::HalfPair => {
                &[0, 0x3c00_3c00, 0x7bff_fbff, 0x7c00_7e00, 0x0001_8001, 0x8000_0000, 0x3555_4248, 0x0400_83ff]
            }
            Self::BrainPair => {
                &[0, 0x3f80_bf80, 0x7f7f_ff7f, 0x7f80_7fc0, 0x0001_8001, 0x8000_0000, 0x3eab_4049, 0x0080_807f]
            }
            Self::Predicate => &[0, 1],
            Self::Small => {
                &[0, 1, 2, 5, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 255, 256, 0x0808, 0x8000_0000, 0xffff_ffff]
            }
        }
    }

    /// A random value; floats mostly have medium exponents.
    pub fn random(self, bits: u64) -> u64 {
        let wide = bits >> 60 == 0;
        match self {
            Self::Int16 | Self::Bytes => bits & 0xffff,
            Self::Int32 | Self::HalfPair | Self::BrainPair => {
                (bits & 0xffff_ffff) >> (bits >> 59 & if wide { 31 } else { 0 })
            }
            Self::Int64 => bits >> (bits >> 58 & if wide { 63 } else { 0 }),
            Self::Half => bits & 0xffff,
            Self::Brain if wide => bits & 0xffff,
            Self::Brain => bits & 0x807f | (0x3e00 + (bits >> 20 & 0x3ff)) & 0x7f80,
            Self::Single if wide => bits & 0xffff_ffff,
            Self::Single => bits & 0x807f_ffff | (118 + (bits >> 40) % 18) << 23,
            Self::Double if wide => bits,
            Self::Double => bits & 0x800f_ffff_ffff_ffff | (1010 + (bits >> 53) % 26) << 52,
            Self::Predicate => bits & 1,
            Self::Small => bits % 70,
        }
    }
}

impl Single {
    /// A kernel in which each thread reads four words and writes two.
    pub fn kernel(&self, name: &str) -> String {
        let mut body = String::new();
        let mut text = self.text.clone();
        for (number, kind) in self.operands.iter().enumerate() {
            let (ty, prefix) = kind.register();
            let slot = ["a", "b", "c", "e"][number];
            let register = format!("%{prefix}{slot}");
            body.push_str(&format!("\t.reg {ty} {register};\n\tld.global.b64 %w, [%in+{}];\n", 8 * number));
            body.push_str(&match ty {
                ".b16" => format!("\tcvt.u16.u64 {register}, %w;\n"),
                ".b32" => format!("\tcvt.u32.u64 {register}, %w;\n"),
                ".b64" => format!("\tmov.b64 {register}, %w;\n"),
                _ => format!("\tsetp.ne.u64 {register}, %w, 0;\n"),
            });
            text = text.replace(&format!("{{{slot}}}"), &register);
        }
        let (ty, prefix) = self.result.register();
        let d = format!("%{prefix}res");
        body.push_str(&format!(
            "\t.reg {ty} {d};\n\t.reg .pred %pq;\n\tsetp.ne.u64 %pq, %in, %in;\n\t{};\n",
            text.replace("{d}", &d).replace("{q}", "%pq")
        ));
        body.push_str(&match ty {
            ".b16" => format!("\tcvt.u64.u16 %w, {d};\n"),
            ".b32" => format!("\tcvt.u64.u32 %w, {d};\n"),
            ".b64" => format!("\tmov.b64 %w, {d};\n"),
            _ => format!("\tselp.u64 %w, 1, 0, {d};\n"),
        });
        format!(
            ".visible .entry {name}(.param .u64 pin, .param .u64 pout)\n{{\n\t.reg .b64 %in, %out, %w, %i;\n\t.reg .b32 %t, %n, %k;\n\
             \tld.param.u64 %in, [pin];\n\tld.param.u64 %out, [pout];\n\tmov.u32 %t, %tid.x;\n\tmov.u32 %k, %ctaid.x;\n\tmov.u32 %n, %ntid.x;\n\
             \tmad.lo.u32 %t, %k, %n, %t;\n\tmul.wide.u32 %i, %t, 32;\n\tadd.u64 %in, %in, %i;\n\tmul.wide.u32 %i, %t, 16;\n\tadd.u64 %out, %out, %i;\n\
             {body}\tst.global.b64 [%out], %w;\n\tselp.u64 %w, 1, 0, %pq;\n\tst.global.b64 [%out+8], %w;\n\tret;\n}}\n"
        )
    }
}

#[derive(Default)]
struct List(Vec<Single>);

impl List {
    fn near(&mut self, text: impl Into<String>, result: Kind, operands: &[Kind], near: Near) {
        let mut text = text.into();
        if !text.contains('{') {
            let names = ["{a}", "{b}", "{c}", "{e}"];
            text = format!("{text} {{d}}, {}", names[..operands.len()].join(", "));
        }
        self.0.push(Single { text, result, operands: operands.to_vec(), near });
    }

    fn add(&mut self, text: impl Into<String>, result: Kind, operands: &[Kind]) {
        self.near(text, result, operands, Near::Equal);
    }
}

/// All programs.
pub fn all() -> Vec<Single> {
    let mut list = List::default();
    integers(&mut list);
    bits(&mut list);
    floats(&mut list);
    halves(&mut list);
    comparisons(&mut list);
    conversions(&mut list);
    together(&mut list);
    list.0
}

const INTEGERS: [(&str, Kind); 6] = [
    ("u16", Kind::Int16),
    ("s16", Kind::Int16),
    ("u32", Kind::Int32),
    ("s32", Kind::Int32),
    ("u64", Kind::Int64),
    ("s64", Kind::Int64),
];

fn integers(list: &mut List) {
    use Kind::{Int32, Int64, Predicate, Single};
    for (ty, kind) in INTEGERS {
        for op in ["add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"] {
            list.add(format!("{op}.{ty}"), kind, &[kind; 2]);
        }
        list.add(format!("sad.{ty}"), kind, &[kind; 3]);
        list.add(format!("mad.lo.{ty}"), kind, &[kind; 3]);
        list.add(format!("mad.hi.{ty}"), kind, &[kind; 3]);
        if ty.starts_with('s') {
            list.add(format!("neg.{ty}"), kind, &[kind]);
            list.add(format!("abs.{ty}"), kind, &[kind]);
        }
        let wide = match kind {
            Kind::Int16 => Some(Int32),
            Kind::Int32 => Some(Int64),
            _ => None,
        };
        if let Some(wide) = wide {
            list.add(format!("mul.wide.{ty}"), wide, &[kind; 2]);
            list.add(format!("mad.wide.{ty}"), wide, &[kind, kind, wide]);
        }
        if kind != Kind::Int16 {
            list.add(format!("slct.{ty}.s32"), kind, &[kind, kind, Int32]);
            list.add(format!("slct.{ty}.f32"), kind, &[kind, kind, Single]);
        }
        list.add(format!("selp.{ty}"), kind, &[kind, kind, Predicate]);
    }
    for op in ["add.sat.s32", "sub.sat.s32", "mul24.lo.u32", "mul24.lo.s32", "mul24.hi.u32", "mul24.hi.s32"] {
        list.add(op, Int32, &[Int32; 2]);
    }
    for op in ["mad24.lo.u32", "mad24.lo.s32", "mad24.hi.u32", "mad24.hi.s32", "mad.hi.sat.s32"] {
        list.add(op, Int32, &[Int32; 3]);
    }
    for (a, b) in [("u32", "u32"), ("u32", "s32"), ("s32", "u32"), ("s32", "s32")] {
        list.add(format!("dp4a.{a}.{b}"), Int32, &[Int32; 3]);
        list.add(format!("dp2a.lo.{a}.{b}"), Int32, &[Int32; 3]);
        list.add(format!("dp2a.hi.{a}.{b}"), Int32, &[Int32; 3]);
    }
    for (ty, kind) in [("u32", Int32), ("s32", Int32), ("u64", Int64), ("s64", Int64)] {
        list.add(format!("add.cc.{ty} {{d}}, {{a}}, {{b}}; addc.{ty} {{d}}, {{b}}, {{c}}"), kind, &[kind; 3]);
        list.add(format!("sub.cc.{ty} {{d}}, {{a}}, {{b}}; subc.{ty} {{d}}, {{b}}, {{c}}"), kind, &[kind; 3]);
        list.add(
            format!("mad.lo.cc.{ty} {{d}}, {{a}}, {{b}}, {{c}}; madc.hi.{ty} {{d}}, {{a}}, {{b}}, {{c}}"),
            kind,
            &[kind; 3],
        );
        list.add(format!("add.cc.{ty} {{d}}, {{a}}, {{b}}; madc.lo.{ty} {{d}}, {{a}}, {{b}}, {{c}}"), kind, &[kind; 3]);
    }
    for op in [
        "add.u16x2",
        "min.u16x2",
        "min.s16x2",
        "max.u16x2",
        "max.s16x2",
        "min.relu.s16x2",
        "max.relu.s16x2",
        "min.relu.s32",
        "max.relu.s32",
    ] {
        list.add(op, Int32, &[Int32; 2]);
    }
}

fn bits(list: &mut List) {
    use Kind::{Int16, Int32, Int64, Small};
    for (ty, kind) in [("b16", Int16), ("b32", Int32), ("b64", Int64)] {
        for op in ["and", "or", "xor"] {
            list.add(format!("{op}.{ty}"), kind, &[kind; 2]);
        }
        list.add(format!("not.{ty}"), kind, &[kind]);
        list.add(format!("cnot.{ty}"), kind, &[kind]);
        list.add(format!("shl.{ty}"), kind, &[kind, Small]);
        list.add(format!("shr.{ty}"), kind, &[kind, Small]);
    }
    for (ty, kind) in INTEGERS {
        list.add(format!("shr.{ty}"), kind, &[kind, Small]);
    }
    for (ty, kind) in [("32", Int32), ("64", Int64)] {
        list.add(format!("popc.b{ty}"), Int32, &[kind]);
        list.add(format!("clz.b{ty}"), Int32, &[kind]);
        list.add(format!("brev.b{ty}"), kind, &[kind]);
        list.add(format!("bfi.b{ty}"), kind, &[kind, kind, Small, Small]);
        for sign in ["u", "s"] {
            list.add(format!("bfind.{sign}{ty}"), Int32, &[kind]);
            list.add(format!("bfind.shiftamt.{sign}{ty}"), Int32, &[kind]);
            list.add(format!("bfe.{sign}{ty}"), kind, &[kind, Small, Small]);
        }
    }
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"] {
        list.add(format!("prmt.b32{mode}"), Int32, &[Int32; 3]);
    }
    for table in [0x80, 0xfe, 0x96, 0xe8, 0xca, 0x1b] {
        list.add(format!("lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table}"), Int32, &[Int32; 3]);
    }
    for mode in ["l.wrap", "l.clamp", "r.wrap", "r.clamp"] {
        list.add(format!("shf.{mode}.b32"), Int32, &[Int32, Int32, Small]);
    }
    for mode in ["clamp", "wrap"] {
        list.add(format!("bmsk.{mode}.b32"), Int32, &[Small; 2]);
        list.add(format!("szext.{mode}.u32"), Int32, &[Int32, Small]);
        list.add(format!("szext.{mode}.s32"), Int32, &[Int32, Small]);
    }
    list.add("mov.b64 {d}, {{a}, {b}}", Int64, &[Int32; 2]);
    list.add("mov.b32 {d}, {{a}, {b}}", Int32, &[Int16; 2]);
}

fn floats(list: &mut List) {
    use Kind::{Double, Single};
    for rounding in ["rn", "rz", "rm", "rp"] {
        for op in ["add", "sub", "mul"] {
            for rest in ["", ".ftz", ".sat", ".ftz.sat"] {
                list.add(format!("{op}.{rounding}{rest}.f32"), Single, &[Single; 2]);
            }
            list.add(format!("{op}.{rounding}.f64"), Double, &[Double; 2]);
        }
        for rest in ["", ".ftz", ".sat"] {
            list.add(format!("fma.{rounding}{rest}.f32"), Single, &[Single; 3]);
        }
        list.add(format!("fma.{rounding}.f64"), Double, &[Double; 3]);
        for rest in ["", ".ftz"] {
            list.add(format!("div.{rounding}{rest}.f32"), Single, &[Single; 2]);
            list.add(format!("rcp.{rounding}{rest}.f32"), Single, &[Single]);
            list.add(format!("sqrt.{rounding}{rest}.f32"), Single, &[Single]);
        }
        list.add(format!("div.{rounding}.f64"), Double, &[Double; 2]);
        list.add(format!("rcp.{rounding}.f64"), Double, &[Double]);
        list.add(format!("sqrt.{rounding}.f64"), Double, &[Double]);
    }
    for op in ["min", "max"] {
        for rest in ["", ".ftz", ".NaN", ".ftz.NaN", ".xorsign.abs", ".NaN.xorsign.abs"] {
            list.add(format!("{op}{rest}.f32"), Single, &[Single; 2]);
        }
        list.add(format!("{op}.f64"), Double, &[Double; 2]);
    }
    for op in ["neg", "abs", "neg.ftz", "abs.ftz"] {
        list.add(format!("{op}.f32"), Single, &[Single]);
    }
    list.add("neg.f64", Double, &[Double]);
    list.add("abs.f64", Double, &[Double]);
    list.add("copysign.f32", Single, &[Single; 2]);
    list.add("copysign.f64", Double, &[Double; 2]);
    for property in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"] {
        list.add(format!("testp.{property}.f32"), Kind::Predicate, &[Single]);
        list.add(format!("testp.{property}.f64"), Kind::Predicate, &[Double]);
    }
    for ftz in ["", ".ftz"] {
        list.near(format!("rcp.approx{ftz}.f32"), Single, &[Single], Near::Ulp(1));
        list.near(format!("sqrt.approx{ftz}.f32"), Single, &[Single], Near::Ulp(2));
        list.near(format!("rsqrt.approx{ftz}.f32"), Single, &[Single], Near::Ulp(2));
        list.near(format!("ex2.approx{ftz}.f32"), Single, &[Single], Near::Ulp(2));
        list.near(format!("lg2.approx{ftz}.f32"), Single, &[Single], Near::Absolute(2.4e-7));
        list.near(format!("div.approx{ftz}.f32"), Single, &[Single; 2], Near::Ulp(2));
        list.near(format!("div.full{ftz}.f32"), Single, &[Single; 2], Near::Ulp(2));
        list.near(format!("sin.approx{ftz}.f32"), Single, &[Single], Near::Absolute(4e-5));
        list.near(format!("cos.approx{ftz}.f32"), Single, &[Single], Near::Absolute(4e-5));
    }
    list.near("tanh.approx.f32", Single, &[Single], Near::Relative(6e-4));
    list.near("rcp.approx.ftz.f64", Double, &[Double], Near::Relative(2e-6));
    list.near("rsqrt.approx.ftz.f64", Double, &[Double], Near::Relative(2e-6));
    list.near("rsqrt.approx.f64", Double, &[Double], Near::Relative(1e-7));
}

fn halves(list: &mut List) {
    use Kind::{Brain, BrainPair, Half, HalfPair};
    for (ty, kind) in [("f16", Half), ("f16x2", HalfPair)] {
        for op in ["add", "sub", "mul"] {
            for rest in ["", ".ftz", ".sat", ".rn", ".ftz.sat"] {
                let rest = if rest == ".rn" { ".rn".to_string() } else { rest.to_string() };
                list.add(format!("{op}{rest}.{ty}"), kind, &[kind; 2]);
            }
        }
        for rest in ["", ".ftz", ".sat", ".relu", ".ftz.relu"] {
            list.add(format!("fma.rn{rest}.{ty}"), kind, &[kind; 3]);
        }
        for op in ["min", "max"] {
            for rest in ["", ".ftz", ".NaN", ".xorsign.abs"] {
                list.add(format!("{op}{rest}.{ty}"), kind, &[kind; 2]);
            }
        }
        list.add(format!("neg.{ty}"), kind, &[kind]);
        list.add(format!("abs.{ty}"), kind, &[kind]);
    }
    for (ty, kind) in [("bf16", Brain), ("bf16x2", BrainPair)] {
        for op in ["add.rn", "sub.rn", "mul.rn", "min", "max", "min.NaN", "max.NaN", "max.xorsign.abs"] {
            list.add(format!("{op}.{ty}"), kind, &[kind; 2]);
        }
        list.add(format!("fma.rn.{ty}"), kind, &[kind; 3]);
        list.add(format!("fma.rn.relu.{ty}"), kind, &[kind; 3]);
        list.add(format!("neg.{ty}"), kind, &[kind]);
        list.add(format!("abs.{ty}"), kind, &[kind]);
    }
    list.near("ex2.approx.f16", Half, &[Half], Near::HalfUlp(2));
    list.near("tanh.approx.f16", Half, &[Half], Near::HalfUlp(3));
}

fn comparisons(list: &mut List) {
    use Kind::{Double, Half, Int32, Predicate, Single};
    for (ty, kind) in INTEGERS {
        for op in ["eq", "ne", "lt", "le", "gt", "ge"] {
            list.add(format!("setp.{op}.{ty}"), Predicate, &[kind; 2]);
        }
    }
    for op in ["lo", "ls", "hi", "hs"] {
        list.add(format!("setp.{op}.u32"), Predicate, &[Int32; 2]);
    }
    for op in ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"] {
        list.add(format!("setp.{op}.f32 {{d}}|{{q}}, {{a}}, {{b}}"), Predicate, &[Single; 2]);
        list.add(format!("setp.{op}.ftz.f32"), Predicate, &[Single; 2]);
        list.add(format!("setp.{op}.f64"), Predicate, &[Double; 2]);
        list.add(format!("setp.{op}.f16"), Predicate, &[Half; 2]);
        list.add(format!("set.{op}.u32.f32"), Int32, &[Single; 2]);
        list.add(format!("set.{op}.f32.f32"), Single, &[Single; 2]);
    }
    for logic in ["and", "or", "xor"] {
        list.add(
            format!("setp.lt.{logic}.s32 {{d}}|{{q}}, {{a}}, {{b}}, {{c}}"),
            Predicate,
            &[Int32, Int32, Predicate],
        );
        list.add(
            format!("setp.lt.{logic}.f32 {{d}}|{{q}}, {{a}}, {{b}}, !{{c}}"),
            Predicate,
            &[Single, Single, Predicate],
        );
        list.add(format!("{logic}.pred"), Predicate, &[Predicate; 2]);
    }
    list.add("not.pred", Predicate, &[Predicate]);
}

fn conversions(list: &mut List) {
    use Kind::{Brain, BrainPair, Bytes, Double, Half, HalfPair, Int16, Int32, Int64, Single};
    let holder = |ty: &str| match ty {
        "u8" | "s8" => Int32,
        "u16" | "s16" => Int16,
        "u32" | "s32" => Int32,
        _ => Int64,
    };
    let types = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];
    for to in types {
        for from in types {
            if to != from {
                list.add(format!("cvt.{to}.{from}"), holder(to), &[holder(from)]);
                // ptxas rejects `.sat` if the result type holds all values.
                let bits = |ty: &str| ty[1..].parse::<u32>().unwrap_or(0);
                let holds_all = if from.starts_with('u') || to.starts_with('u') == from.starts_with('u') {
                    bits(to) > bits(from) && (from.starts_with('u') || to.starts_with('s'))
                } else {
                    false
                };
                if !holds_all {
                    list.add(format!("cvt.sat.{to}.{from}"), holder(to), &[holder(from)]);
                }
            }
        }
        for (float, kind) in [("f16", Half), ("f32", Single), ("f64", Double)] {
            for rounding in ["rni", "rzi", "rmi", "rpi"] {
                list.add(format!("cvt.{rounding}.{to}.{float}"), holder(to), &[kind]);
            }
            for rounding in ["rn", "rz", "rm", "rp"] {
                list.add(format!("cvt.{rounding}.{float}.{to}"), kind, &[holder(to)]);
            }
        }
        list.add(format!("cvt.rzi.ftz.{to}.f32"), holder(to), &[Single]);
    }
    for rounding in ["rni", "rzi", "rmi", "rpi"] {
        for rest in ["", ".ftz", ".sat"] {
            list.add(format!("cvt.{rounding}{rest}.f32.f32"), Single, &[Single]);
        }
        list.add(format!("cvt.{rounding}.f64.f64"), Double, &[Double]);
        list.add(format!("cvt.{rounding}.f16.f16"), Half, &[Half]);
    }
    for rounding in ["rn", "rz", "rm", "rp"] {
        list.add(format!("cvt.{rounding}.f32.f64"), Single, &[Double]);
        list.add(format!("cvt.{rounding}.ftz.f32.f64"), Single, &[Double]);
        list.add(format!("cvt.{rounding}.sat.f32.f64"), Single, &[Double]);
        list.add(format!("cvt.{rounding}.f16.f32"), Half, &[Single]);
        list.add(format!("cvt.{rounding}.f16.f64"), Half, &[Double]);
    }
    for rounding in ["rn", "rz", "rn.relu"] {
        list.add(format!("cvt.{rounding}.bf16.f32"), Brain, &[Single]);
        list.add(format!("cvt.{rounding}.f16x2.f32"), HalfPair, &[Single; 2]);
        list.add(format!("cvt.{rounding}.bf16x2.f32"), BrainPair, &[Single; 2]);
    }
    for (text, to, from) in [
        ("cvt.f32.f16", Single, Half),
        ("cvt.ftz.f32.f16", Single, Half),
        ("cvt.f64.f16", Double, Half),
        ("cvt.f32.bf16", Single, Brain),
        ("cvt.f64.f32", Double, Single),
        ("cvt.ftz.f64.f32", Double, Single),
        ("cvt.sat.f32.f32", Single, Single),
        ("cvt.ftz.f32.f32", Single, Single),
        ("cvt.rna.tf32.f32", Int32, Single),
        ("cvt.rn.f16x2.e4m3x2", HalfPair, Bytes),
        ("cvt.rn.f16x2.e5m2x2", HalfPair, Bytes),
        ("cvt.rn.satfinite.e4m3x2.f16x2", Bytes, HalfPair),
        ("cvt.rn.satfinite.e5m2x2.f16x2", Bytes, HalfPair),
    ] {
        list.add(text, to, &[from]);
    }
    list.add("cvt.rn.satfinite.e4m3x2.f32", Bytes, &[Single; 2]);
    list.add("cvt.rn.satfinite.e5m2x2.f32", Bytes, &[Single; 2]);
}

fn together(list: &mut List) {
    use Kind::{Int32, Int64, Predicate, Small};
    for mode in ["up", "down", "bfly", "idx"] {
        list.add(format!("shfl.sync.{mode}.b32 {{d}}|{{q}}, {{a}}, {{b}}, {{c}}, -1"), Int32, &[Int32, Small, Int32]);
    }
    for op in ["add", "min", "max"] {
        list.add(format!("redux.sync.{op}.u32 {{d}}, {{a}}, -1"), Int32, &[Int32]);
        list.add(format!("redux.sync.{op}.s32 {{d}}, {{a}}, -1"), Int32, &[Int32]);
    }
    for op in ["and", "or", "xor"] {
        list.add(format!("redux.sync.{op}.b32 {{d}}, {{a}}, -1"), Int32, &[Int32]);
    }
    for op in ["all", "any", "uni"] {
        list.add(format!("vote.sync.{op}.pred {{d}}, {{a}}, -1"), Predicate, &[Predicate]);
    }
    list.add("vote.sync.ballot.b32 {d}, {a}, -1", Int32, &[Predicate]);
    list.add("match.any.sync.b32 {d}, {a}, -1", Int32, &[Small]);
    list.add("match.all.sync.b32 {d}|{q}, {a}, -1", Int32, &[Predicate].map(|_| Small));
    list.add("match.any.sync.b64 {d}, {a}, -1", Int32, &[Int64]);
    list.add("elect.sync {d}|{q}, -1", Int32, &[]);
    list.add("activemask.b32 {d}", Int32, &[]);
}
