//! The vocabulary of PTX: opcodes, modifiers, types, state spaces, special registers.
//!
//! Each is one table of texts and variants, so parsing and printing cannot diverge.

/// Defines an enum of PTX words; one table generates both directions.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
        }

        impl $name {
            /// The variant for a word without a leading dot.
            pub fn from_text(text: &str) -> Option<Self> {
                Some(match text {
                    $($text => Self::$variant,)*
                    _ => return None,
                })
            }

            /// The PTX spelling, without a leading dot.
            pub fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.text())
            }
        }
    };
}

words! {
    /// The opcode of an instruction.
    Opcode {
        Abs = "abs", Activemask = "activemask", Add = "add", Addc = "addc", Alloca = "alloca", And = "and",
        Applypriority = "applypriority", Atom = "atom", Bar = "bar", Barrier = "barrier", Bfe = "bfe", Bfi = "bfi",
        Bfind = "bfind", Bmsk = "bmsk", Bra = "bra", Brev = "brev", Brkpt = "brkpt", Brx = "brx", Call = "call",
        Clusterlaunchcontrol = "clusterlaunchcontrol", Clz = "clz", Cnot = "cnot", Copysign = "copysign", Cos = "cos",
        Cp = "cp", Createpolicy = "createpolicy", Cvt = "cvt", Cvta = "cvta", Discard = "discard", Div = "div",
        Dp2a = "dp2a", Dp4a = "dp4a", Elect = "elect", Ex2 = "ex2", Exit = "exit", Fabric = "fabric", Fence = "fence", Fma = "fma",
        Fns = "fns", Getctarank = "getctarank", Griddepcontrol = "griddepcontrol", Isspacep = "isspacep",
        Istypep = "istypep", Ld = "ld", Ldmatrix = "ldmatrix", Ldu = "ldu", Lg2 = "lg2", Lop3 = "lop3", Mad = "mad",
        Mad24 = "mad24", Madc = "madc", Mapa = "mapa", Match = "match", Max = "max", Mbarrier = "mbarrier",
        Membar = "membar", Min = "min", Mma = "mma", Mov = "mov", Movmatrix = "movmatrix", Mul = "mul",
        Mul24 = "mul24", Multimem = "multimem", Nanosleep = "nanosleep", Neg = "neg", Not = "not", Or = "or",
        Pmevent = "pmevent", Popc = "popc", Prefetch = "prefetch", Prefetchu = "prefetchu", Prmt = "prmt",
        Rcp = "rcp", Red = "red", Redux = "redux", Rem = "rem", Ret = "ret", Rsqrt = "rsqrt", Sad = "sad",
        Selp = "selp", Set = "set", Setmaxnreg = "setmaxnreg", Setp = "setp", Shf = "shf", Shfl = "shfl", Shl = "shl",
        Shr = "shr", Sin = "sin", Slct = "slct", Sqrt = "sqrt", St = "st", Stackrestore = "stackrestore",
        Stacksave = "stacksave", Stmatrix = "stmatrix", Sub = "sub", Subc = "subc", Suld = "suld", Suq = "suq",
        Sured = "sured", Sust = "sust", Szext = "szext", Tanh = "tanh", Tcgen05 = "tcgen05", Tensormap = "tensormap",
        Testp = "testp", Tex = "tex", Tld4 = "tld4", Trap = "trap", Txq = "txq", Vabsdiff = "vabsdiff",
        Vabsdiff2 = "vabsdiff2", Vabsdiff4 = "vabsdiff4", Vadd = "vadd", Vadd2 = "vadd2", Vadd4 = "vadd4",
        Vavrg2 = "vavrg2", Vavrg4 = "vavrg4", Vmad = "vmad", Vmax = "vmax", Vmax2 = "vmax2", Vmax4 = "vmax4",
        Vmin = "vmin", Vmin2 = "vmin2", Vmin4 = "vmin4", Vote = "vote", Vset = "vset", Vset2 = "vset2",
        Vset4 = "vset4", Vshl = "vshl", Vshr = "vshr", Vsub = "vsub", Vsub2 = "vsub2", Vsub4 = "vsub4",
        Wgmma = "wgmma", Wmma = "wmma", Xor = "xor",
        Unknown = "(unknown)",
    }
}

words! {
    /// A word after the opcode that is not a type: `rn`, `global`, `v4`.
    ///
    /// Comparisons, state spaces and vector lengths are included; [`crate::Form`] has methods for them.
    Modifier {
        A = "a", Abs = "abs", Acc = "acc", AccF32 = "acc::f32", AcqRel = "acq_rel", Acquire = "acquire", Add = "add",
        Address = "address", Alias = "alias", Aligned = "aligned", All = "all", Alloc = "alloc",
        AllocPermit = "relinquish_alloc_permit", And = "and", Any = "any", Approx = "approx", ArraySize = "array_size",
        Arrive = "arrive", ArriveDrop = "arrive_drop", Async = "async", Async0 = "async::generic",
        AsyncGlobal = "async::global", B = "b", B1024 = "b1024", B4 = "b4", B4e = "b4e", B4x16P64 = "b4x16_p64",
        B6x16P32 = "b6x16_p32", B8x16 = "b8x16", Ballot = "ballot", Bfly = "bfly", Block16 = "block16",
        Block32 = "block32", BlockScale = "block_scale", BoxDim = "box_dim", Bulk = "bulk", BulkGroup = "bulk_group",
        C = "c", Ca = "ca", Cas = "cas", Cc = "cc", Cg = "cg", ChannelDataType = "channel_data_type",
        ChannelOrder = "channel_order", CheckLayout = "check_layout", Clamp = "clamp", Cluster = "cluster",
        Col = "col", CollectorADiscard = "collector::a::discard", CollectorAFill = "collector::a::fill",
        CollectorALastuse = "collector::a::lastuse", CollectorAUse = "collector::a::use",
        CollectorB0Discard = "collector::b0::discard", CollectorB0Fill = "collector::b0::fill",
        CollectorB0Lastuse = "collector::b0::lastuse", CollectorB0Use = "collector::b0::use",
        CollectorB1Discard = "collector::b1::discard", CollectorB1Fill = "collector::b1::fill",
        CollectorB1Lastuse = "collector::b1::lastuse", CollectorB1Use = "collector::b1::use",
        CollectorB2Discard = "collector::b2::discard", CollectorB2Fill = "collector::b2::fill",
        CollectorB2Lastuse = "collector::b2::lastuse", CollectorB2Use = "collector::b2::use",
        CollectorB3Discard = "collector::b3::discard", CollectorB3Fill = "collector::b3::fill",
        CollectorB3Lastuse = "collector::b3::lastuse", CollectorB3Use = "collector::b3::use", Commit = "commit",
        CommitGroup = "commit_group", CompleteTx = "complete_tx", Const = "const", Cp = "cp",
        CpFenceproxy = "cp_fenceproxy", CpMask = "cp_mask", Cs = "cs", Cta = "cta", CtaGroup1 = "cta_group::1",
        CtaGroup2 = "cta_group::2", Cv = "cv", D = "d", Dealloc = "dealloc", Dec = "dec", Depth = "depth",
        Dim1d = "1d", Dim1dArray = "a1d", Dim2d = "2d", Dim2dArray = "a2d", Dim2dms = "2dms", Dim2dmsArray = "a2dms",
        Dim3d = "3d", Dim4d = "4d", Dim5d = "5d", DimCube = "cube", DimCubeArray = "acube", Down = "down", Ecl = "ecl",
        Ecr = "ecr", ElementStride = "element_stride", Elemtype = "elemtype", Eq = "eq", Equ = "equ",
        EvictFirst = "evict_first", EvictLast = "evict_last", EvictNormal = "evict_normal", Exch = "exch",
        Exclusive = "exclusive", ExpectTx = "expect_tx", F4 = "f4", F4e = "f4e", Fence = "fence",
        FillMode = "fill_mode", Finite = "finite", Fractional = "fractional", Ftz = "ftz", Full = "full", Ge = "ge",
        GenericProxy = "generic", GetFirstCtaid = "get_first_ctaid", GetFirstCtaidX = "get_first_ctaid::x",
        GetFirstCtaidY = "get_first_ctaid::y", GetFirstCtaidZ = "get_first_ctaid::z", Geu = "geu", Gl = "gl",
        Global = "global", GlobalAddress = "global_address", GlobalDim = "global_dim", GlobalStride = "global_stride",
        Gpu = "gpu", Gt = "gt", Gtu = "gtu", Height = "height", Hi = "hi", Hs = "hs", Idx = "idx",
        IgnoreOob = "ignore_oob", Im2col = "im2col", Inc = "inc", Infinite = "infinite", Init = "init",
        InterleaveLayout = "interleave_layout", Inval = "inval", InvalidateAll = "invalidate_all",
        IsCanceled = "is_canceled", KindF16 = "kind::f16", KindF8f6f4 = "kind::f8f6f4", KindI8 = "kind::i8",
        KindMxf4 = "kind::mxf4", KindMxf4nvf4 = "kind::mxf4nvf4", KindMxf8f6f4 = "kind::mxf8f6f4",
        KindTf32 = "kind::tf32", L = "l", L1 = "L1", L132B = "L1::32B", L1EvictFirst = "L1::evict_first",
        L1EvictLast = "L1::evict_last", L1EvictNormal = "L1::evict_normal", L1EvictUnchanged = "L1::evict_unchanged",
        L1Level = "level::L1", L1NoAllocate = "L1::no_allocate", L2 = "L2", L2B128 = "L2::128B", L2B256 = "L2::256B",
        L2B64 = "L2::64B", L2CacheHint = "L2::cache_hint", L2EvictFirst = "L2::evict_first",
        L2EvictLast = "L2::evict_last", L2EvictNormal = "L2::evict_normal", L2EvictUnchanged = "L2::evict_unchanged",
        L2Level = "level::L2", L2Prefetch = "prefetch", LaunchDependents = "launch_dependents", Layout = "layout",
        LayoutV0 = "layout::v0", LayoutV1 = "layout::v1", Ld = "ld", LdReduce = "ld_reduce", Le = "le", Leu = "leu",
        Lo = "lo", Load = "load", Local = "local", Ls = "ls", Lt = "lt", Ltu = "ltu", Lu = "lu",
        M16n16k16 = "m16n16k16", M16n16k8 = "m16n16k8", M16n8k128 = "m16n8k128", M16n8k16 = "m16n8k16",
        M16n8k256 = "m16n8k256", M16n8k32 = "m16n8k32", M16n8k4 = "m16n8k4", M16n8k64 = "m16n8k64",
        M16n8k8 = "m16n8k8", M32n8k16 = "m32n8k16", M8n16 = "m8n16", M8n32k16 = "m8n32k16", M8n8k128 = "m8n8k128",
        M8n8k16 = "m8n8k16", M8n8k32 = "m8n8k32", M8n8k4 = "m8n8k4", Max = "max", MbarrierArrive = "mbarrier::arrive",
        MbarrierArriveOne = "mbarrier::arrive::one", MbarrierCompleteTxBytes = "mbarrier::complete_tx::bytes",
        MbarrierInit = "mbarrier_init", Mbarrier = "mbarrier",
        MbarrierReportValidityPer16bytes8 = "mbarrier::report::validity::per_16bytes::8",
        MbarrierReportValidityPer16bytes80 = "mbarrier::report::validity::per_16bytes::80",
        MbarrierReportValidityPer16bytes8000 = "mbarrier::report::validity::per_16bytes::8000",
        MbarrierReportValidityPerElementFf = "mbarrier::report::validity::per_element::ff", Min = "min", Mma = "mma",
        MmaAsync = "mma_async", Mmio = "mmio", MulticastCluster = "multicast::cluster",
        MulticastCluster32b = "multicast::cluster::32b", MulticastClusterAll = "multicast::cluster::all", Nan = "NaN",
        NanTest = "nan", Nc = "nc", Ne = "ne", Neu = "neu", NoComplete = "noComplete", Noftz = "noftz",
        Noinc = "noinc", Normal = "normal", Notanumber = "notanumber", Num = "num", Number = "number", Oob = "oob",
        Op = "op", Or = "or", OverrideGlobalAddress = "override::global_address",
        OverrideGlobalDim = "override::global_dim", OverrideGlobalDimStride = "override::global_dim_stride",
        Pack16b = "pack::16b", Param = "param", ParamEntry = "param::entry", ParamFunc = "param::func",
        Parity = "parity", PendingCount = "pending_count", PhaseTypeConditional = "phase_type::conditional",
        PhaseTypePrimary = "phase_type::primary", Popc = "popc", Proxy = "proxy", QueryCancel = "query_cancel",
        R = "r", Rank = "rank", Rc16 = "rc16", Rc8 = "rc8", Rcp = "rcp", Read = "read", Red = "red", Reduce = "reduce",
        Relaxed = "relaxed", Release = "release", ReleaseMbarrier = "release_mbarrier", Relu = "relu",
        Replace = "replace", Restrict = "restrict", Rm = "rm", Rmi = "rmi", Rn = "rn", Rna = "rna", Rni = "rni",
        Row = "row", Rp = "rp", Rpi = "rpi", Rs = "rs", Rz = "rz", Rzi = "rzi", Samplepos = "samplepos", Sat = "sat",
        Satfinite = "satfinite", Sc = "sc", ScaleVec1X = "scale_vec::1X", ScaleVec2X = "scale_vec::2X",
        ScaleVec4X = "scale_vec::4X", Shape128x128b = "128x128b", Shape128x256b = "128x256b", Shape1616 = "m16n16",
        Shape168 = "m16n8", Shape16x128b = "16x128b", Shape16x256b = "16x256b", Shape16x32bx2 = "16x32bx2",
        Shape16x64b = "16x64b", Shape1D = "1D", Shape32x128b = "32x128b", Shape32x32b = "32x32b",
        Shape4x256b = "4x256b", Shape64x128b = "64x128b", Shape88 = "m8n8", Shared = "shared",
        SharedCluster = "shared::cluster", SharedCta = "shared::cta", Shift = "shift", Shiftamt = "shiftamt",
        Sp = "sp", Spcompress = "spcompress", SpOrderedMetadata = "sp::ordered_metadata", St = "st",
        Stmatrix = "stmatrix", Store = "store", Subnormal = "subnormal", SwizzleAtomicity = "swizzle_atomicity",
        SwizzleMode = "swizzle_mode", Sync = "sync", SyncRestrictCluster = "sync_restrict::shared::cluster",
        SyncRestrictClusterRead = "sync_restrict::shared::cta.cluster", SyncRestrictCta = "sync_restrict::shared::cta",
        SyncRestrictProxyAsync = "sync_restrict::proxy::async",
        SyncRestrictSharedReadMmaA = "sync_restrict::shared::read::mma::a", SyncUnaligned = "sync_unaligned",
        Sys = "sys", Tensor = "tensor", Tensormap = "tensormap", TensormapGeneric = "tensormap::generic",
        TestWait = "test_wait", Tile = "tile", TileGather4 = "tile::gather4", TileScatter4 = "tile::scatter4",
        To = "to", Trans = "trans", Trap = "trap", TryCancel = "try_cancel", TryWait = "try_wait", Ue5m3x2 = "ue5m3x2",
        Uni = "uni", Unified = "unified", Unpack16b = "unpack::16b", Up = "up", V2 = "v2", V4 = "v4", V8 = "v8",
        ValidAddr = "valid_addr", Volatile = "volatile", Wait = "wait", WaitAll = "wait_all", WaitGroup = "wait_group",
        Warp = "warp", Warpx20123 = "warpx2::01_23", Warpx20213 = "warpx2::02_13", Warpx4 = "warpx4", Wb = "wb",
        Weak = "weak", Wide = "wide", Width = "width", Wrap = "wrap", Write = "write", Ws = "ws", Wt = "wt", X1 = "x1",
        X128 = "x128", X16 = "x16", X2 = "x2", X32 = "x32", X4 = "x4", X64 = "x64", X8 = "x8", Xor = "xor",
        XorSign = "xorsign", Zero = "zero",
        Unknown = "(unknown)",
    }
}

words! {
    /// The type of a register, variable or operation.
    Type {
        Pred = "pred", B1 = "b1", B2 = "b2", B4 = "b4", B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64", B128 = "b128",
        U4 = "u4", U8 = "u8", U16 = "u16", U32 = "u32", U64 = "u64", S4 = "s4", S8 = "s8", S16 = "s16", S32 = "s32",
        S64 = "s64", U16x2 = "u16x2", S16x2 = "s16x2", F16 = "f16", F16x2 = "f16x2", Bf16 = "bf16", Bf16x2 = "bf16x2",
        Tf32 = "tf32", F32 = "f32", F32x2 = "f32x2", F64 = "f64", E4m3 = "e4m3", E5m2 = "e5m2", E4m3x2 = "e4m3x2",
        E5m2x2 = "e5m2x2", E4m3x4 = "e4m3x4", E5m2x4 = "e5m2x4", E2m1 = "e2m1", E2m1x2 = "e2m1x2", E2m3x2 = "e2m3x2", E3m2x2 = "e3m2x2", Ue8m0x2 = "ue8m0x2", Ue5m3x2 = "ue5m3x2",
        Texref = "texref", Samplerref = "samplerref", Surfref = "surfref",
    }
}

impl Type {
    /// Width in bits. A predicate has 1; a texture reference has 64.
    pub fn bits(self) -> u32 {
        use Type::*;
        match self {
            Pred | B1 => 1,
            B2 => 2,
            B4 | U4 | S4 | E2m1 => 4,
            B8 | U8 | S8 | E4m3 | E5m2 | E2m1x2 => 8,
            B16 | U16 | S16 | F16 | Bf16 | E4m3x2 | E5m2x2 | E2m3x2 | E3m2x2 | Ue8m0x2 | Ue5m3x2 => 16,
            B32 | U32 | S32 | U16x2 | S16x2 | F16x2 | Bf16x2 | Tf32 | F32 | E4m3x4 | E5m2x4 => 32,
            B64 | U64 | S64 | F64 | F32x2 | Texref | Samplerref | Surfref => 64,
            B128 => 128,
        }
    }

    /// Size in memory, in bytes; at least 1.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether the type is a signed integer.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::S4 | Self::S8 | Self::S16 | Self::S32 | Self::S64 | Self::S16x2)
    }

    /// Whether the type is floating-point, packed types included.
    pub fn is_float(self) -> bool {
        use Type::*;
        matches!(self, F16 | F16x2 | Bf16 | Bf16x2 | Tf32 | F32 | F32x2 | F64)
            || matches!(
                self,
                E4m3 | E5m2 | E4m3x2 | E5m2x2 | E4m3x4 | E5m2x4 | E2m1 | E2m1x2 | E2m3x2 | E3m2x2 | Ue8m0x2 | Ue5m3x2
            )
    }
}

words! {
    /// The state space of a variable or memory access.
    Space {
        Global = "global", Shared = "shared", SharedCluster = "shared::cluster", Local = "local", Const = "const",
        Param = "param", Generic = "(generic)", Register = "reg", Texture = "tex",
    }
}

words! {
    /// A special register, or a constant spelled like one.
    SpecialRegister {
        TidX = "%tid.x", TidY = "%tid.y", TidZ = "%tid.z", NtidX = "%ntid.x", NtidY = "%ntid.y", NtidZ = "%ntid.z",
        CtaidX = "%ctaid.x", CtaidY = "%ctaid.y", CtaidZ = "%ctaid.z", NctaidX = "%nctaid.x", NctaidY = "%nctaid.y",
        NctaidZ = "%nctaid.z", Laneid = "%laneid", Warpid = "%warpid", Nwarpid = "%nwarpid", Smid = "%smid",
        Nsmid = "%nsmid", Gridid = "%gridid", LanemaskEq = "%lanemask_eq", LanemaskLe = "%lanemask_le",
        LanemaskLt = "%lanemask_lt", LanemaskGe = "%lanemask_ge", LanemaskGt = "%lanemask_gt", Clock = "%clock",
        ClockHi = "%clock_hi", Clock64 = "%clock64", Globaltimer = "%globaltimer", GlobaltimerLo = "%globaltimer_lo",
        GlobaltimerHi = "%globaltimer_hi", DynamicSmemSize = "%dynamic_smem_size", TotalSmemSize = "%total_smem_size",
        AggrSmemSize = "%aggr_smem_size", CurrentGraphExec = "%current_graph_exec", IsExplicitCluster = "%is_explicit_cluster",
        ClusteridX = "%clusterid.x", ClusteridY = "%clusterid.y", ClusteridZ = "%clusterid.z",
        NclusteridX = "%nclusterid.x", NclusteridY = "%nclusterid.y", NclusteridZ = "%nclusterid.z",
        ClusterCtaidX = "%cluster_ctaid.x", ClusterCtaidY = "%cluster_ctaid.y", ClusterCtaidZ = "%cluster_ctaid.z",
        ClusterNctaidX = "%cluster_nctaid.x", ClusterNctaidY = "%cluster_nctaid.y", ClusterNctaidZ = "%cluster_nctaid.z",
        ClusterCtarank = "%cluster_ctarank", ClusterNctarank = "%cluster_nctarank", WarpSize = "WARP_SZ",
        ReservedSmemOffsetBegin = "%reserved_smem_offset_begin", ReservedSmemOffsetEnd = "%reserved_smem_offset_end",
        ReservedSmemOffsetCap = "%reserved_smem_offset_cap",
        Unknown = "(unknown)",
    }
}

impl SpecialRegister {
    /// Whether threads of one warp may read different values.
    pub fn differs_in_warp(self) -> bool {
        use SpecialRegister::*;
        matches!(self, TidX | TidY | TidZ | Laneid | LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt)
            || matches!(self, Clock | ClockHi | Clock64 | Globaltimer | GlobaltimerLo | GlobaltimerHi | Unknown)
    }

    /// The special register with a name, `%` included; `None` for other names.
    pub(crate) fn named(word: &str) -> Option<Self> {
        let is_numbered = |prefix: &str| {
            word.strip_prefix(prefix).is_some_and(|rest| {
                let digits = rest.strip_suffix("_64").unwrap_or(rest);
                !digits.is_empty() && digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit())
            })
        };
        match word {
            "(unknown)" => None,
            _ if is_numbered("%pm") || is_numbered("%envreg") || is_numbered("%reserved_smem_offset_") => {
                Some(Self::Unknown)
            }
            _ => Self::from_text(word),
        }
    }
}
