#!/bin/sh
# Makes the images of this folder with nvcc 13.5, and the words of ptxas on each: what the tests compare with.
# The sources are compiled in a folder of another machine, whose name is in the line tables.
set -e
here=$(cd "$(dirname "$0")" && pwd)
build=/tmp/builds/of-another-machine
mkdir -p "$build/device" && cp "$here/../device/filters.cu" "$build/device/" && cd "$build"

image() {
    name=$1
    shift
    nvcc -std=c++17 -Xptxas=-v "$@" device/filters.cu -o "$here/$name" 2>&1 |
        grep -v -e 'Compile time' -e '^$' >"$here/$name.log"
}

image lines.cubin -cubin -arch=sm_90 -lineinfo
image plain.cubin -cubin -arch=sm_80
image all.fatbin -fatbin --compress-mode=size -DTAPS=20 \
    -gencode=arch=compute_75,code=sm_75 -gencode=arch=compute_120,code=[sm_120,compute_120]
rm -r /tmp/builds
