use super::*;

fn check_all(flags: &[&str]) -> Result<Vec<String>, FlagError> {
    let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
    check(&flags, Path::new("/project"))
}

#[test]
fn flags_of_real_builds_are_taken() {
    let flags = ["--use_fast_math", "-O3", "-std=c++17", "-Iinclude", "-DN=4", "-D", "M", "--expt-relaxed-constexpr"];
    let expected =
        ["--use_fast_math", "-O3", "-std=c++17", "-I", "/project/include", "-DN=4", "-DM", "--expt-relaxed-constexpr"];
    assert_eq!(check_all(&flags).unwrap(), expected);
    let flags =
        ["-Xptxas=-v,-O3", "-Xcompiler", "-fPIC,-Wall", "-maxrregcount", "64", "--default-stream", "per-thread"];
    let expected = ["-Xptxas=-v,-O3", "-Xcompiler=-fPIC,-Wall", "-maxrregcount=64", "--default-stream=per-thread"];
    assert_eq!(check_all(&flags).unwrap(), expected);
    assert_eq!(check_all(&["-isystem", "/usr/include/x"]).unwrap(), ["-isystem", "/usr/include/x"]);
}

#[test]
fn flags_that_run_or_write_are_refused() {
    let attacks: &[&[&str]] = &[
        &["-ccbin", "./evil"],
        &["-ccbin=./evil"],
        &["--compiler-bindir=evil"],
        &["-Xcompiler", "-B."],
        &["-Xcompiler=-B,."],
        &["-Xcompiler", "-wrapper,./evil"],
        &["-Xcompiler=-fplugin=./evil.so"],
        &["-Xcompiler=-specs=evil"],
        &["-Xcompiler=-Wp,-MD,evil"],
        &["-Xcompiler=-Wl,-x"],
        &["-Xcompiler=-o,evil"],
        &["-Xcompiler=-fdump-tree-all"],
        &["-Xcompiler=-fprofile-generate=x"],
        &["-Xcompiler=@evil"],
        &["-Xcompiler=evil.c"],
        &["-Xcompiler=-save-temps"],
        &["@flags.txt"],
        &["--options-file", "x"],
        &["-optf=x"],
        &["-o", "x"],
        &["-odir=x"],
        &["--output-directory=x"],
        &["--keep-dir=x"],
        &["-keep"],
        &["-MF", "x"],
        &["-MD"],
        &["-run"],
        &["--run-args=x"],
        &["--ldir=x"],
        &["-ldir", "x"],
        &["-idp=x"],
        &["-tp=x"],
        &["--dont-use-profile"],
        &["-Xptxas=-o,x"],
        &["-Xptxas=--options-file=x"],
        &["-Xptxas", "-o=x"],
        &["-Xcudafe=--x"],
        &["-Xnvvm=x"],
        &["-Xlinker=x"],
        &["evil.cu"],
        &["-"],
        &["--"],
        &[""],
        &["-fdevice-time-trace=x"],
    ];
    for attack in attacks {
        assert!(check_all(attack).is_err(), "{attack:?}");
    }
}

#[test]
fn nothing_reaches_the_shell_below_nvcc() {
    let attacks: &[&[&str]] = &[
        &["-DX=$(touch x)"],
        &["-DX=`touch x`"],
        &["-D", "X=\"a"],
        &["-DX=\"$(touch x)\""],
        &["-DX=\"\\\"\""],
        &["-DX=\\"],
        &["-I$(touch x)"],
        &["-I", "a\nb"],
        &["-Xptxas=-O3;touch x"],
        &["-Xcompiler=-DX;touch x"],
        &["-std=c++17;x"],
        &["-UX`x`"],
        &["-D"],
        &["-D", "-ccbin=x"],
        &["-DA,-ccbin=x"],
        &["-Ia,-ccbin"],
        &["-include", "$(x)"],
        &["-O3;x"],
        &["-Werror"],
    ];
    for attack in attacks {
        assert!(check_all(attack).is_err(), "{attack:?}");
    }
    assert!(check_defines(&["X=$(touch x)".to_string()]).is_err());
    assert!(check_defines(&["-X".to_string()]).is_err());
    assert_eq!(check_defines(&["X=(1 + 2)".to_string()]).unwrap(), ["-DX=(1 + 2)"]);
    assert!(!is_safe_path(Path::new("/a/$(x).cu")));
    assert!(is_safe_path(Path::new("/a b/(x);.cu")));
}

#[test]
fn texts_may_be_defined() {
    // As nvcc hands it on: `-D "X=\"a;b\""`.
    assert_eq!(check_all(&["-DX=\"a;b\""]).unwrap(), ["-DX=\"a;b\""]);
}

#[test]
fn what_changes_the_text_is_told_from_what_does_not() {
    for flag in [
        "-Xcompiler=-Iinc",
        "-Xcompiler=-iquote,inc",
        "-Xcompiler=-imacros,e.h",
        "-Xcompiler=-Wp,-DX",
        "-DX,Y",
        "-Xcompiler=@o.rsp",
        "-Xcompiler=-D X",
        "-Xcompiler='-DX'",
        "--include-path /x",
        "-iquote inc",
        "-nostdinc",
        "--pre-include e.h",
        "-Xcicc=-O0",
        "-Xnvvm -O0",
    ] {
        assert!(may_change_text(flag), "{flag}");
    }
    for flag in [
        "-ccbin ./evil",
        "-Xcudafe=--diag_suppress=1",
        "-Xfatbin -compress-all",
        "-rdynamic",
        "-Xcompiler=-fdebug-prefix-map=/a=/b",
        "--compress-mode=size",
    ] {
        assert!(!may_change_text(flag), "{flag}");
    }
}

#[test]
fn a_forced_include_of_another_folder_keeps_its_name() {
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("here.h"), "").unwrap();
    let here = folder.path().join("here.h").display().to_string();
    let checked = |value: &str| check(&["-include".to_string(), value.to_string()], folder.path()).unwrap();
    assert_eq!(checked("thrust/tuple.h"), ["-include", "thrust/tuple.h"]);
    assert_eq!(checked("here.h"), ["-include", here.as_str()]);
    for value in ["../x.h", "a/../../x.h", "@x", "-ccbin=x", "/etc/x.h"] {
        assert!(Path::new(&checked(value)[1]).is_absolute(), "{value}");
    }
}

#[test]
fn the_message_says_what_to_do() {
    let message = |flags: &[&str]| check_all(flags).unwrap_err().to_string();
    assert!(message(&["-arch=sm_90"]).contains("use `arch"));
    assert!(message(&["-gencode", "arch=compute_90,code=sm_90"]).contains("use `arch"));
    assert!(message(&["-ptx"]).contains("leave it out"));
    assert!(message(&["--use-fast-math"]).contains("did you mean `--use_fast_math`"));
    assert!(message(&["-maxrregcount"]).contains("needs a value"));
}

#[test]
fn options_of_ptxas_and_the_front_end_change_code() {
    for flag in [
        "-Xptxas=--maxntid=1024",
        "-Xptxas -v,--minnctapersm=8",
        "--ptxas-options=-g",
        "-Xcudafe=--unsigned_chars",
        "-Xcudafe \"--diag_suppress=1 --unsigned_chars\"",
    ] {
        assert!(may_change_code(flag), "{flag}");
    }
    for flag in [
        "-Xptxas=-v,--warning-as-error",
        "-Xcudafe --diag_suppress=20012",
        "-Xcudafe=--display_error_number",
        "-O3",
        "-lineinfo",
    ] {
        assert!(!may_change_code(flag), "{flag}");
    }
}
