//! Installable releases as data: packages of NVIDIA's Python wheels with versions and checksums.
//!
//! The package versions of a release are the requirements of NVIDIA's own `cuda-toolkit` package (13.0.3, 13.1.2,
//! 13.2.2, 13.3.1, 13.4.3, 13.5.0). The checksums are those of the package index:
//! `pip install --dry-run --ignore-installed --no-deps --only-binary :all: --target T --platform P --report R` with
//! each `manylinux` platform of both architectures. Checked by installing every release on x86-64.

mod libraries;

use lmem_base::version::{Version, VersionRequest};

use self::libraries::Libraries;

/// A 13.x release of CUDA, at its newest patch.
#[derive(Debug)]
pub(crate) struct Release {
    /// The compilers' version, such as 13.5.37, as printed by `nvcc --version`.
    pub(crate) number: &'static str,
    /// Packages required to compile `.cu` files, kernel strings and PTX.
    pub(crate) packages: [Package; 6],
    /// CUDA's libraries, for their headers; fetched when a source includes one.
    pub(crate) libraries: Libraries,
    /// The disassembler; no wheels exist before 13.2.
    pub(crate) nvdisasm: Option<Package>,
}

/// A package: one wheel per architecture.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// SHA-256 of the wheel for Linux on x86-64.
    pub(crate) x86_64: &'static str,
    /// SHA-256 of the wheel for Linux on aarch64.
    pub(crate) aarch64: &'static str,
}

impl Package {
    /// A line of a requirements file, with the checksum for `architecture` (a value of `std::env::consts::ARCH`).
    pub(crate) fn requirement(&self, architecture: &str) -> String {
        let sha256 = if architecture == "aarch64" { self.aarch64 } else { self.x86_64 };
        format!("{}=={} --hash=sha256:{sha256}", self.name, self.version)
    }
}

impl Release {
    pub(crate) fn version(&self) -> Version {
        self.number.parse().expect("a test parses every number of the table")
    }
}

/// The newest known release that satisfies `request`.
pub(crate) fn find(request: &VersionRequest) -> Option<&'static Release> {
    RELEASES.iter().find(|release| request.allows(release.number))
}

/// The newest known release.
pub(crate) fn newest() -> &'static Release {
    &RELEASES[0]
}

/// Newest first.
pub(crate) static RELEASES: [Release; 6] = [
    Release {
        number: "13.5.37",
        packages: [
            Package {
                name: "nvidia-cuda-nvcc",
                version: "13.5.37",
                x86_64: "f5c4f7ead5d964fb4af42bbf1e6d3ec3c1e6e9d83b53749f691d387e7fcaa3a7",
                aarch64: "588eda18eb5076ae859fe272844b526459228af22df0b117f54eec3aa82bc9c8",
            },
            Package {
                name: "nvidia-nvvm",
                version: "13.5.37",
                x86_64: "c41bfa362e407405163f103c2229f0765f8cc2ed7d148b754dc77f228bf7e070",
                aarch64: "b659bd3115b7ac7ec8931e67d0e2c0dd09cd35b08a6a7372df6f8f22c67da80a",
            },
            Package {
                name: "nvidia-cuda-crt",
                version: "13.5.37",
                x86_64: "e898b7f73d3035fa89915a3f7bf3b54a73e90249746111aed295822c4729bb29",
                aarch64: "9ed2c565fdf3244fa6719769a80a466b85bfd4b1467ea339353bc91c971d09e0",
            },
            Package {
                name: "nvidia-cuda-runtime",
                version: "13.5.37",
                x86_64: "df2b79a8852f10d1fef8c848489c49eebb5754051bf870202a862831412b179d",
                aarch64: "de2dc5a7367974228b0a69588a9acc9340d3768bef1bf38bf0801eb08497cd2d",
            },
            Package {
                name: "nvidia-cuda-cccl",
                version: "13.3.5.0.6",
                x86_64: "d5230098fa2df5021e1a00c0c4eee41797671a91119d31e892463e5ccf3ee326",
                aarch64: "6f30b8076b3e69951c459c94ae190bde51924b320076ebaec376d36848b4c76e",
            },
            Package {
                name: "nvidia-cuda-nvrtc",
                version: "13.5.37",
                x86_64: "86b4d68058807988b7d9af5b44917a0601e9c337f35ccd657bfb3c759ff8d8bc",
                aarch64: "36e4fa2a8ada293f5693d308e531c196ab6f91cf7a0ff479bf96a537d43a6096",
            },
        ],
        libraries: libraries::CUDA_13_5,
        nvdisasm: Some(Package {
            name: "nvidia-cuda-nvdisasm",
            version: "13.5.37",
            x86_64: "d3fdbdd49fa53e2e4aacd3db8259d052bd2b049ececdcb69e92e083c6728e7ca",
            aarch64: "a3a8248074edb9fba63b74c38a5416b712a91ab09e70b8ab37186c3d293fc605",
        }),
    },
    Release {
        number: "13.4.92",
        packages: [
            Package {
                name: "nvidia-cuda-nvcc",
                version: "13.4.92",
                x86_64: "a1f3bfb27299e060b444d5df1f4bcd762501326cf0fd3141ed61756816ab9a0e",
                aarch64: "d6fc9f720c3b73b9e526f4c759dbc6581e1a300ba2c8191e3f0ed91c848a92c8",
            },
            Package {
                name: "nvidia-nvvm",
                version: "13.4.92",
                x86_64: "e4c81cb321dd9743bcf871c5e7e8fecd7f05dea607944426e102bdda8d49e137",
                aarch64: "6b70f49442461c1b1033e599ff021676ea3d20840be1e7f92e1d6560daf08637",
            },
            Package {
                name: "nvidia-cuda-crt",
                version: "13.4.92",
                x86_64: "731ce3de11df8add8306404417a1edaede225dbe27eb233aed37c8de9d4fe720",
                aarch64: "212dbd6410b090f5c5b88e8671e44df5d43c591c12f232dae3197b137b616009",
            },
            Package {
                name: "nvidia-cuda-runtime",
                version: "13.4.92",
                x86_64: "9641f797da20ce1dd8e779b6e96d08cf9ba564cec8e8225458811ee26423f3a5",
                aarch64: "bef071788589550ab02846fcbc732a2b88c2b16f2cd8a0f45d98e68e8c5fb0c8",
            },
            Package {
                name: "nvidia-cuda-cccl",
                version: "13.3.4.3.1",
                x86_64: "48ba8e44a1162face51306d5bfd67604d9949be5acb9105dbb93734d2df8b3a4",
                aarch64: "cd47e7823e3ab369a3e3df3a4c6dbb4cb02176cb85b251eec5f7c9cdfa528ec4",
            },
            Package {
                name: "nvidia-cuda-nvrtc",
                version: "13.4.92",
                x86_64: "5ce8c97b00b232c4f50c8c4b5a3b68cafee08bdb82ea86f2052ff01d03194f4a",
                aarch64: "24b9f5eccc6a5a19779038cf468aecb7cecfa8716269beaef5640bd989d21c28",
            },
        ],
        libraries: libraries::CUDA_13_4,
        nvdisasm: Some(Package {
            name: "nvidia-cuda-nvdisasm",
            version: "13.4.92",
            x86_64: "f35a5b6ddb64b6758c22c0b078c5b6ff6d54f7c240cd74bf131ab5bf13b6c3fe",
            aarch64: "b007c08c8248b29281ed9a174b478d557b58ea8a921ab78369a2843f0718f77d",
        }),
    },
    Release {
        number: "13.3.73",
        packages: [
            Package {
                name: "nvidia-cuda-nvcc",
                version: "13.3.73",
                x86_64: "f483af83166c4fa356a21606076d553b0b4ceaebbd9912e537545080db695bdd",
                aarch64: "70f250825355d2c3aa6c7a972a0ec00f020bad66d2679e527eb4336301c904aa",
            },
            Package {
                name: "nvidia-nvvm",
                version: "13.3.73",
                x86_64: "0e28e0858a3475e11ac67d35301cd5bf82666a1c0dc4ec4e80ceaf3a5fd1dea8",
                aarch64: "e2bcdd5783b5481445f1f0e7170cb836cc0d72999839ba850bbba6dc97b76bb8",
            },
            Package {
                name: "nvidia-cuda-crt",
                version: "13.3.73",
                x86_64: "df14a17ae1c5c3171265411212246654d780f89344ea85344466c6b955247543",
                aarch64: "60aacc0b5e1e8b40c62abe4d1ab16440add91b99bd2f17f62dd091586b73d166",
            },
            Package {
                name: "nvidia-cuda-runtime",
                version: "13.3.29",
                x86_64: "e04420616e72f563167a7733272992d7e6df6dc5cb54b2f94f9f1520ea9e30c1",
                aarch64: "73291e19c9dd919c140c91bda2f80b0eca487da5ee30a086ef7bc4918ecb90ea",
            },
            Package {
                name: "nvidia-cuda-cccl",
                version: "13.3.3.4.1",
                x86_64: "cc0adc188d570b09f4d606c7dc05a42aa3d8aa082e0d60f7bbfc5b6435f627c6",
                aarch64: "067d19b4b3c9d0f2ebec9f29a311b2863db96bf98e058bbc331597d51ce818cf",
            },
            Package {
                name: "nvidia-cuda-nvrtc",
                version: "13.3.33",
                x86_64: "82530788b8c6164a54d3fd9ae8bcca8893d397c4aeb998861982a03bbe41e204",
                aarch64: "7b05ecda494c6dabc44231a608b060a71008a730d9dfda932cc508e6d29159e0",
            },
        ],
        libraries: libraries::CUDA_13_3,
        nvdisasm: Some(Package {
            name: "nvidia-cuda-nvdisasm",
            version: "13.3.73",
            x86_64: "fa17084b07c0dca68a42892f771b4b1b40fbe9b91660209623e61cea611cae8c",
            aarch64: "dd4751884f9016b9b6dbf007abdeb5681d0a2edc731dd3d2fda9d6d878e88f73",
        }),
    },
    Release {
        number: "13.2.86",
        packages: [
            Package {
                name: "nvidia-cuda-nvcc",
                version: "13.2.86",
                x86_64: "7d3f56c8d705bad35bbba69eb0470d90856fd5d4dc48c6a6173aaf1e9f887cf5",
                aarch64: "909140a1f942b943982b2eff120e618c94e29d75d9e33f5cd074f0e64eb411e8",
            },
            Package {
                name: "nvidia-nvvm",
                version: "13.2.86",
                x86_64: "a9244f3209922d655612c11ebb4117ea1f80983cb2b215c9cccded127282cebc",
                aarch64: "a502dcc2859f17a925adba495c222d44a221b9eb10e7d111a7046dc2cc883b69",
            },
            Package {
                name: "nvidia-cuda-crt",
                version: "13.2.86",
                x86_64: "e3ab08801bf9b1e6dc979275d25e816bb5000521b648e19c324d5eef0c79f1da",
                aarch64: "3294669c379ef3382804bc077fec22a48753a743c75c83c1ee3c224bb049423f",
            },
            Package {
                name: "nvidia-cuda-runtime",
                version: "13.2.86",
                x86_64: "3498247680dfddce31bad102af7e3e26fc795342a3cac64722bb0fa95e7f60f0",
                aarch64: "37844957894bfdecf90243568d21a2cb251b66106915b71459a23c8e6ef2da69",
            },
            Package {
                name: "nvidia-cuda-cccl",
                version: "13.2.86",
                x86_64: "35da671cf0cecd3539da214a11bb8e7634366c9e950da9c5feecf6c490a65b20",
                aarch64: "05f2a2123cd7bc13b731d219d27e50281150a7985d5955bffcde0e966cefe0a2",
            },
            Package {
                name: "nvidia-cuda-nvrtc",
                version: "13.2.86",
                x86_64: "8111c5130e967b78222ea2124145f8efe9ce201b752b2579a2513100a53be1c5",
                aarch64: "1e5d7b411a2eb83f5c71c98d58133a763fc9fa86a4241ee320c5c4782d9ad1fd",
            },
        ],
        libraries: libraries::CUDA_13_2,
        nvdisasm: Some(Package {
            name: "nvidia-cuda-nvdisasm",
            version: "13.2.86",
            x86_64: "53606e719ecae07a2335f95902d5a1393a0cc1c317499ee7ffcf628a44385f2c",
            aarch64: "d02c627f7aecfcac4dd5e923e94adeaa6607c5fdae8df750b01ad948d38941d3",
        }),
    },
    Release {
        number: "13.1.115",
        packages: [
            Package {
                name: "nvidia-cuda-nvcc",
                version: "13.1.115",
                x86_64: "fe5c0604869dfbc837bdce9e1eef8e4f0e0d103c29e3875014ba3538c70efb74",
                aarch64: "ae46f71ea6f377e7719c1084ae8ca28d4e88770ee4436478c366c15f1fcfdebe",
            },
            Package {
                name: "nvidia-nvvm",
                version: "13.1.115",
                x86_64: "6fdf483d85d9903f9cbf84c41d99221a86e0c0511d05de3d237b4ab69c11627e",
                aarch64: "860706eb4b5851ac1d2bacf574b582ec66901acc31051da9b0cf9a2c910a9aa9",
            },
            Package {
                name: "nvidia-cuda-crt",
                version: "13.1.115",
                x86_64: "53c9b03f804dc7e539dd11914ec3d3fd0849791d8cd6a73f0d4df984bb339916",
                aarch64: "eefd71d80d296391b100ab61e44bfd924308e2685d382f33a24d5c59213b43da",
            },
            Package {
                name: "nvidia-cuda-runtime",
                version: "13.1.80",
                x86_64: "dac25b52e69050e5a7a84957e6df470a85b185f8f648a99a1ab1dfce027576cf",
                aarch64: "5f1aa8fd779cae1a78aa8fdbaa5e4f245300baff120099d9b5ee84e3f4506a29",
            },
            Package {
                name: "nvidia-cuda-cccl",
                version: "13.1.115",
                x86_64: "d4a9e0590cd34290cda27f402a67fbf42e3ed043bdd927c6dd52419c860f2f92",
                aarch64: "5d5d26df9e56af547a3699048b466d55dbab7557af030161de96abd67834512a",
            },
            Package {
                name: "nvidia-cuda-nvrtc",
                version: "13.1.115",
                x86_64: "d7cf1284ab82f379884decc8813d9d4a729bc96b1ec020a9cf80303f698d73c4",
                aarch64: "dfbc5e3bb19db41e4a05280b7b0cb9cbb624699f57dab3798455f43345541f99",
            },
        ],
        libraries: libraries::CUDA_13_1,
        nvdisasm: None,
    },
    Release {
        number: "13.0.88",
        packages: [
            Package {
                name: "nvidia-cuda-nvcc",
                version: "13.0.88",
                x86_64: "56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03",
                aarch64: "c7ff28f86a24effdc6c034fa15230c549a273e4771b10a7fec14996f8cf3307f",
            },
            Package {
                name: "nvidia-nvvm",
                version: "13.0.88",
                x86_64: "c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0",
                aarch64: "c4376a291d72d22a315d9d2f69bdae8f8cd83a627f75bad395cee49a0fe65dc1",
            },
            Package {
                name: "nvidia-cuda-crt",
                version: "13.0.88",
                x86_64: "2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4",
                aarch64: "ee2ea2a97073e02ee62bb27841f437332be2c248e3eac013df07997ada39c003",
            },
            Package {
                name: "nvidia-cuda-runtime",
                version: "13.0.96",
                x86_64: "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
                aarch64: "ef9bcbe90493a2b9d810e43d249adb3d02e98dd30200d86607d8d02687c43f55",
            },
            Package {
                name: "nvidia-cuda-cccl",
                version: "13.0.85",
                x86_64: "e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649",
                aarch64: "6f0203e29fed809ee2b7fe9b1344df66ecab990c37d6a2e0e189b26d6c97ed7c",
            },
            Package {
                name: "nvidia-cuda-nvrtc",
                version: "13.0.88",
                x86_64: "ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575",
                aarch64: "d27f20a0ca67a4bb34268a5e951033496c5b74870b868bacd046b1b8e0c3267b",
            },
        ],
        libraries: libraries::CUDA_13_0,
        nvdisasm: None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_and_numbers_are_well_formed() {
        for release in &RELEASES {
            assert_eq!(release.version().major, 13);
            for package in release.packages.iter().chain(&release.libraries).chain(&release.nvdisasm) {
                for sha256 in [package.x86_64, package.aarch64] {
                    assert_eq!(sha256.len(), 64, "{} {}", package.name, package.version);
                    assert!(sha256.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)));
                }
                assert_ne!(package.x86_64, package.aarch64, "{} {}", package.name, package.version);
            }
        }
    }

    #[test]
    fn releases_are_sorted_newest_first() {
        assert!(RELEASES.windows(2).all(|pair| pair[0].version() > pair[1].version()));
    }

    #[test]
    fn every_compiler_of_a_release_has_the_number_of_the_release() {
        for release in &RELEASES {
            for package in
                release.packages.iter().filter(|package| ["nvidia-cuda-nvcc", "nvidia-nvvm"].contains(&package.name))
            {
                assert_eq!(package.version, release.number);
            }
        }
    }

    #[test]
    fn a_requirement_is_pinned_to_one_wheel() {
        let line = newest().packages[0].requirement("aarch64");
        assert_eq!(line, format!("nvidia-cuda-nvcc==13.5.37 --hash=sha256:{}", newest().packages[0].aarch64));
    }
}
