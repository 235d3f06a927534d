//! The packages of CUDA's libraries for each release, for their headers: the requirements of the `cuda-toolkit` package of the
//! release (13.0.3, 13.1.2, 13.2.2, 13.3.1, 13.4.3, 13.5.0), in the order of [`Library::ALL`](crate::Library::ALL). Checksums as
//! in the table of releases.

use super::Package;

/// The packages of a release.
pub(crate) type Libraries = [Package; crate::Library::ALL.len()];

pub(super) const CUDA_13_5: Libraries = [
    Package {
        name: "nvidia-cublas",
        version: "13.10.0.20",
        x86_64: "dcc6d63884c53d07e267ce7e6feac17b2538cebaafec5db865736c3e28e4dc84",
        aarch64: "c5f3418c0a845232a8cabc58f6fa52cfae7d8bd3680d94c3907aca710fd48d70",
    },
    Package {
        name: "nvidia-cufft",
        version: "12.5.0.14",
        x86_64: "b8be26837a5abad2b5b74f3e92dd29f622a42934b355be0961a48712cbba23ad",
        aarch64: "091cde103312d6e09366122fe3f67092dcfd94cc9785029d695d6bcffaa76fdf",
    },
    Package {
        name: "nvidia-curand",
        version: "10.4.5.25",
        x86_64: "22bb226a857e5888fe6b54ae465fc4371296bcff13a35f79e19691bcf454f529",
        aarch64: "07c75d8ba14b627d1a01d2c1bfa1eece88f25d564d3aae7e6b6fb44f7bbec9c1",
    },
    Package {
        name: "nvidia-cusolver",
        version: "12.4.1.2",
        x86_64: "b3b8e02fd2f2df869369af075dc3a179d43f6f7b85e94632a7dce556697be044",
        aarch64: "1f54c8e0d5b1ebd183b4c5a79f0709fa90241e8254da381ca5b969ee97c8de32",
    },
    Package {
        name: "nvidia-cusparse",
        version: "12.9.4.2",
        x86_64: "072667e58c851a318738f5527a12eb225cbf058803f2ea451c722d8cf8edddec",
        aarch64: "e2ce97f185c9c4b285e4a8fbf02cb96dd1b8dd66736ebe2f0a8da5f6012a4fb7",
    },
    Package {
        name: "nvidia-npp",
        version: "13.2.0.93",
        x86_64: "31e52de156799efed7da0654899c16e7732fb16a5ff9c4a3769894fb6c9d11bc",
        aarch64: "d1a0ac8fb8606663c96621add9095621781ba28704b3165f73cb39d171f1c8e8",
    },
    Package {
        name: "nvidia-nvjpeg",
        version: "13.3.2.43",
        x86_64: "27f9c4a25a73f1d1ad35c342c8d657c8ff43e23877f338ef15fb2602ac2e5aa8",
        aarch64: "3846e2e5d38487fd94cb870d0a9a865782bf9b54cade15467defcf51dc68cc2e",
    },
    Package {
        name: "nvidia-nvtx",
        version: "13.5.25",
        x86_64: "f72f21bd338c531afb3f802d03c569e9f7c324739ac332c672a431734d0b5c41",
        aarch64: "181c68c7e5308aa633015f96462b7064c07a6f3d36bb680a1ddb1b250ae84e8e",
    },
    Package {
        name: "nvidia-cuda-profiler-api",
        version: "13.5.25",
        x86_64: "1b4c77ff668bdb7bc55331b0b3fb853d3cd13810b19a1b77648e71d11cd360f9",
        aarch64: "d216926910e2529d881bb3cb5461da397422dcf3668e59c7d081e458dc4cb595",
    },
];

pub(super) const CUDA_13_4: Libraries = [
    Package {
        name: "nvidia-cublas",
        version: "13.8.0.4",
        x86_64: "9f17797dfcc048694461f4e47de17d2e3c25adf172ef723d2db0a07cd8744b89",
        aarch64: "e22b25be18f8b7d267dbbe2a8ec78e2c69c05762536d299dd0afa2c847115740",
    },
    Package {
        name: "nvidia-cufft",
        version: "12.4.0.43",
        x86_64: "0e8385013596b112d29c9ce8c63dc575b308d77636c7169104e18714f03961a8",
        aarch64: "3938644a5b594e06d396e02d6e52bdd84589b3c1f3a8a127a2704211c2abc441",
    },
    Package {
        name: "nvidia-curand",
        version: "10.4.4.72",
        x86_64: "25c3457ae7a224fdd484dab90b0fc5dc0e842fab5db3012afa4a5bd2af4eb7e5",
        aarch64: "53bef256d4362eb3d70c9c048a8d31bcf003f9dcade17720c73d3a494a7dcaa3",
    },
    Package {
        name: "nvidia-cusolver",
        version: "12.3.5.3",
        x86_64: "01f13254cfe9f99cf8d141fa4d00fbe55b235fd1509854017d766fd84442f46a",
        aarch64: "42528d8347ca73e0c5c081ac1c9a51561730f50e568d3d185e3938337fd8c646",
    },
    Package {
        name: "nvidia-cusparse",
        version: "12.8.6.72",
        x86_64: "a739f6ff51ea2a8a2990b267b9b4d3063a5d94890efb8ccf393bfcab9dd487aa",
        aarch64: "c3917c86fd419cbd42229b5cccb8bbe5200ed5b7dec3aa86d28e25c90a256e1b",
    },
    Package {
        name: "nvidia-npp",
        version: "13.2.0.58",
        x86_64: "cf59284ad215a49e270a3763dbde3a060aabdd8f31b787b9f1192209ec6ae9e8",
        aarch64: "58d00ff931e709e860f3a8058e7b37faabfd85d1da3ace7d379c7ad3f3412cc3",
    },
    Package {
        name: "nvidia-nvjpeg",
        version: "13.2.3.58",
        x86_64: "552b30b11ac8e2bbfb18fd8de31e48756188ebf9b84a8c342a88f07f81a6cdf1",
        aarch64: "ab12c6b8a90f1a21672baef2666a2f5c741374f247602b515cb0c8d45696bd32",
    },
    Package {
        name: "nvidia-nvtx",
        version: "13.4.92",
        x86_64: "6d14c3b7a91917892f0f54fca352acd315fbadcc92bdc616a9bc3f626e9f1e28",
        aarch64: "d256c3a0f2f5e82de0a529112c630a74744f138b3ce97c6f468f65ca40463c98",
    },
    Package {
        name: "nvidia-cuda-profiler-api",
        version: "13.4.92",
        x86_64: "b6a29bfebcb18cd045e667a0cfc882258e4a78bb6b73b868a36f7f0d069e6c5c",
        aarch64: "01a0d4c5707fc448ddaf0b9ca2059fba9bab208089cc65cd8e448f1bbf52b8e6",
    },
];

pub(super) const CUDA_13_3: Libraries = [
    Package {
        name: "nvidia-cublas",
        version: "13.6.0.2",
        x86_64: "b82c80c886cea6da6e149a5c3bdba274f12b7e4ec4b00a050b916b0446fb4153",
        aarch64: "946f6a252b1cc72d8de912c75975fd6d8ba44f67d4e5044fe764ddb909f4a688",
    },
    Package {
        name: "nvidia-cufft",
        version: "12.3.0.29",
        x86_64: "edb25c0626bd202ee5acc035b5dd361a3b89ed3b75a81a52df72c89150cb57c2",
        aarch64: "3c268ec73fdbfd22e42913dcef6e49e0c305ab09cd9848268a841cbe9f33f748",
    },
    Package {
        name: "nvidia-curand",
        version: "10.4.3.29",
        x86_64: "1859bf37a62754d2c65001393096ca79de399f995971fa7826d0adfd88c3cf7b",
        aarch64: "63899de834d1b84b32ad60d34cb4d246bea998ddadbc85f8e1dd937dd3718d61",
    },
    Package {
        name: "nvidia-cusolver",
        version: "12.2.6.9",
        x86_64: "e32cb40c8a4d3df475b556caaf6af5808ef064df7e291a049528a0d28017b674",
        aarch64: "658ce9e6ed8a321033419fe6e55faf0f245a15aa23669eda03d7f2dcce436d73",
    },
    Package {
        name: "nvidia-cusparse",
        version: "12.8.2.51",
        x86_64: "65cbcc4e37a34fca4ee7df2fd57da103593842cda1bbb4a144664ecfe59873a5",
        aarch64: "00469fcf62c4d464a1225abd9b20864ecff35e3fbc9fb992572e83d358927755",
    },
    Package {
        name: "nvidia-npp",
        version: "13.1.2.81",
        x86_64: "0975731d01862393a956296559ac9f7e46379207d7de4a1e1abde9fc58427183",
        aarch64: "e2c117d74a86e159fb8ffd593bbd3d45fd683ad08f9265b698143feed7653fb3",
    },
    Package {
        name: "nvidia-nvjpeg",
        version: "13.2.1.68",
        x86_64: "2c292f2219909bfcc56f2184dd134b7c7dd65bafa7247f3287e26ef42dbd1453",
        aarch64: "e3f0d88b7e8b952919a954d67e5c7935ffcd27ddcaec76da8619b463e241a9d6",
    },
    Package {
        name: "nvidia-nvtx",
        version: "13.3.29",
        x86_64: "c54976009b1e86846ee66ab129daae522a25d698971cb074b66e5e7e133a58f0",
        aarch64: "ee6f2cfcfb5dc037cc40894186c9142a2f9bc25b2ea8fc2d57b51974d777d1bc",
    },
    Package {
        name: "nvidia-cuda-profiler-api",
        version: "13.3.27",
        x86_64: "278a8aca78c72552905a2333b3dcf8497000be4993d2c415998088581c87467e",
        aarch64: "5f35074595d0e215e2fb8becfd9a0b2b4b2d5fde48b4372ad50f67a5a5088672",
    },
];

pub(super) const CUDA_13_2: Libraries = [
    Package {
        name: "nvidia-cublas",
        version: "13.4.1.3",
        x86_64: "a5917cb642cfb07f4a0231ee16aec7e2e0357d8cb8b1b78a0c9c68dba3e6afc7",
        aarch64: "4eb1472bf92b741e7cf24da7978dde251b58ddec2092d9f6a04f3623eb4e9a15",
    },
    Package {
        name: "nvidia-cufft",
        version: "12.2.0.57",
        x86_64: "34da27fadf3979b0b042c43823f0530be8408b86df31ee0108e1ca0b621d4ef6",
        aarch64: "1ed438568ae1088ba2c25789d10205d4104b8b140b7bd942e39a787947a0fb74",
    },
    Package {
        name: "nvidia-curand",
        version: "10.4.2.66",
        x86_64: "9bb3796a2f6223454b2e326e3d7572c1500cfa4d629de827676b4eeecd30ab0c",
        aarch64: "cb61a0bb7e7a7446b25bf5ff93aa560009dd738b48ed52f57ae764a4cae37381",
    },
    Package {
        name: "nvidia-cusolver",
        version: "12.2.0.11",
        x86_64: "fab5778f6769947389a1a6abc07e635576825a08c0ffc68c3ae7f1392c794b42",
        aarch64: "8be097fca28de6be0990ab216ee9b804dd51077e1d1d83acf6c9850650bdc64d",
    },
    Package {
        name: "nvidia-cusparse",
        version: "12.7.10.12",
        x86_64: "25907c75e4db1581685f06f61cc6cdecc04611765516a52373e0a18ebd69fa00",
        aarch64: "597eff2cd83e3ab1d1e3a0dce9c9c879d77cf64ec2659bfdb5af6a5d02e7aaa9",
    },
    Package {
        name: "nvidia-npp",
        version: "13.1.0.59",
        x86_64: "1dba9aeb93d18c7230b2ab8b76ea2fa01c638090c20408bb6d1f1772bbf10fdb",
        aarch64: "627a584c9fae46f4e8e59717a3f81ac0a2b53b0f36042966aa3a3f6fc34e008a",
    },
    Package {
        name: "nvidia-nvjpeg",
        version: "13.1.0.59",
        x86_64: "331223cfcd8c618d8d6adb56b2c128f8e3406be5fcab5f6aeff9291e18a52a35",
        aarch64: "44939c98f258dd977d89a76e64f09f38270f510b5ba420f6fc7f6749262c3724",
    },
    Package {
        name: "nvidia-nvtx",
        version: "13.2.86",
        x86_64: "968ce72baee2a01791c7d3254000eac81f24677b0b91c62d21b449a1f309c245",
        aarch64: "1c6ae1be92fba569dd271f7b9b3056f99f5642726dc6c53d1b93ae4110c398fb",
    },
    Package {
        name: "nvidia-cuda-profiler-api",
        version: "13.2.86",
        x86_64: "8a99fd469c743e47997062f9c8d3cea691769abee07f83f5e57fbcaf03439317",
        aarch64: "934bc3d4afbe1bd7361d613b27208bcc657a349224c49a4d2eee1288ba86d646",
    },
];

pub(super) const CUDA_13_1: Libraries = [
    Package {
        name: "nvidia-cublas",
        version: "13.2.2.2",
        x86_64: "77466d8d568b1750389a0632580e256552bf8d21ae40223e871ac8fb381020c8",
        aarch64: "178c9d61959c1184603951703c947b2007989cf7fea6b216cf1a31c104fbdeac",
    },
    Package {
        name: "nvidia-cufft",
        version: "12.1.0.78",
        x86_64: "e1ceed544d2c1d92a19e91c3de20d7eaca58075e43d4b09efbda7f603607f1c2",
        aarch64: "639f60e802ace75277178148bc14bc17c6d1ec1f133cd81557c3e06ab70bf951",
    },
    Package {
        name: "nvidia-curand",
        version: "10.4.1.81",
        x86_64: "6ea66d0de7e71472b800829b525df15027bd3d8d0c475778a4d2b2abc7b453bb",
        aarch64: "f61e4210ee1a69a3a148f4a5a99b607358a0d253c7e5a26aa4099afcb9901e4f",
    },
    Package {
        name: "nvidia-cusolver",
        version: "12.0.9.81",
        x86_64: "5d28371e1301d1edfb15b8b1201e24cd680bc72de7f384cc162c7edbd8c5348c",
        aarch64: "124e9ade619124f4a4a946dd63814d0cfc7b4738d9f34639b83f4d7c323e1eb9",
    },
    Package {
        name: "nvidia-cusparse",
        version: "12.7.3.1",
        x86_64: "39dc7926b835761ade1a7210e047877977cdf4153ac2f8df57662047916d92ad",
        aarch64: "c2cbabfe12fb58bfbd24fe2aa1b85a945900769eafc03cd788c5e19481f2a751",
    },
    Package {
        name: "nvidia-npp",
        version: "13.0.3.3",
        x86_64: "f8e73e92c47927b7a94b566688546b0cf2438d429269ec0d5f2be5ff1b5591d6",
        aarch64: "7b4353c6b2cb3dec6492d0573256c12681093751698f1786ff06469b3687a8f9",
    },
    Package {
        name: "nvidia-nvjpeg",
        version: "13.0.3.75",
        x86_64: "b9fc782a1453fabacef7326f8d234f1503174558fb394bacd6ebf8fcd2089cdf",
        aarch64: "5ba2c9e11a435893c576bc07ea04733eacf448b7186a22392f4e31ca1364eba9",
    },
    Package {
        name: "nvidia-nvtx",
        version: "13.1.115",
        x86_64: "0d7685a5f65014a38a92ae96491f2412e8f0c32f33523476b9a718d0ced51b41",
        aarch64: "3189f033c0fbc58aa19808106a5fd2aae46175c67f5b9fb378a5403405bcbcd8",
    },
    Package {
        name: "nvidia-cuda-profiler-api",
        version: "13.1.115",
        x86_64: "a960d5448a9fdb481a7f3fb2dc30f8ab2114254b44f7f32b80ca19135aefd729",
        aarch64: "dade40f89c3f3fcbe4f6da5b3a49defe665ef8c6e9e7aeec89710f8ef05ce09d",
    },
];

pub(super) const CUDA_13_0: Libraries = [
    Package {
        name: "nvidia-cublas",
        version: "13.1.1.3",
        x86_64: "37936a16db8fe4ac1f065c2139360608a543a09275cb1a1af612e08cfa065436",
        aarch64: "b7a210458267ac818974c53038fbec2e969d5c99f305ab15c72522fa9f001dd5",
    },
    Package {
        name: "nvidia-cufft",
        version: "12.0.0.61",
        x86_64: "6c44f692dce8fd5ffd3e3df134b6cdb9c2f72d99cf40b62c32dde45eea9ddad3",
        aarch64: "2708c852ef8cd89d1d2068bdbece0aa188813a0c934db3779b9b1faa8442e5f5",
    },
    Package {
        name: "nvidia-curand",
        version: "10.4.0.35",
        x86_64: "1aee33a5da6e1db083fe2b90082def8915f30f3248d5896bcec36a579d941bfc",
        aarch64: "133df5a7509c3e292aaa2b477afd0194f06ce4ea24d714d616ff36439cee349a",
    },
    Package {
        name: "nvidia-cusolver",
        version: "12.0.4.66",
        x86_64: "0a759da5dea5c0ea10fd307de75cdeb59e7ea4fcb8add0924859b944babf1112",
        aarch64: "02c2457eaa9e39de20f880f4bd8820e6a1cfb9f9a34f820eb12a155aa5bc92d2",
    },
    Package {
        name: "nvidia-cusparse",
        version: "12.6.3.3",
        x86_64: "2b3c89c88d01ee0e477cb7f82ef60a11a4bcd57b6b87c33f789350b59759360b",
        aarch64: "80bcc4662f23f1054ee334a15c72b8940402975e0eab63178fc7e670aa59472c",
    },
    Package {
        name: "nvidia-npp",
        version: "13.0.1.2",
        x86_64: "70a53f1eb78a4c4c6a9ad08b50d28fbd1c190e03a4b45a0e0ffbdd794cc919a3",
        aarch64: "80a2ee1298451654e4b8424aaf375bcb2cc43f5007a34c59278daba480cffdb6",
    },
    Package {
        name: "nvidia-nvjpeg",
        version: "13.0.1.86",
        x86_64: "f658a05c48702219b3db52e194c2ea1ff0ccd3fbf2b75127b4a573074cc22fd5",
        aarch64: "d4be80fe2ca19d394d0baaac7ca59892fac892741b6f1c3f743b33dfb660a217",
    },
    Package {
        name: "nvidia-nvtx",
        version: "13.0.85",
        x86_64: "4936d1d6780fbe68db454f5e72a42ff64d1fd6397df9f363ae786930fd5c1cd4",
        aarch64: "cb7780edb6b14107373c835bf8b72e7a178bac7367e23da7acb108f973f157a6",
    },
    Package {
        name: "nvidia-cuda-profiler-api",
        version: "13.0.85",
        x86_64: "73d2671deac833db6686d6fbde4753fa3a3a497d87540fc246f081f375243f66",
        aarch64: "b307d61f574ab60666d0b2cb204738338dbd0e05a9fa609eaab198222f0a13c2",
    },
];
