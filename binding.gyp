{
  "variables": {
    # Fewer instructions for each lock. Other compilers would need a linker that goes with them.
    "link_time_optimization": ["<!@(node packaging/from-source/gyp.js link-time-options)"],
  },
  "targets": [
    {
      "target_name": "holdfast",
      "sources": ["<!@(node packaging/from-source/gyp.js sources)"],
      "include_dirs": ["src"],
      "defines": [
        "NAPI_VERSION=8",
        "NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS",
        "NDEBUG",  # a broken invariant marks the segment broken instead of ending the process
      ],
      # -isystem: the warnings below are for this project's own code only. The path is relative to
      # build/, where make runs: an absolute one could have spaces.
      "cflags_cc": [
        "-isystem", "<!(node -p \"path.relative('build', require('node-addon-api').include_dir)\")",
        "-std=c++20",
        "-O2",  # as the tests are built; g++ 12 warns without cause at -O3 (GCC bug 105651)
        "-g",
        "-fno-exceptions",
        "-fvisibility=hidden",
        "-fvisibility-inlines-hidden",
        "<@(link_time_optimization)",
        "-ffunction-sections",  # what is for tests alone is left out by --gc-sections
        "-Wall",
        "-Wextra",
        "-Wshadow",
        "-Wconversion",
        "<!@(node packaging/from-source/gyp.js warnings)",  # -Werror in a checkout
      ],
      # Node's own defaults, which differ between its versions.
      "cflags!": ["-Wno-unused-parameter"],
      "cflags_cc!": ["-std=gnu++17", "-std=gnu++20"],
      "ldflags": [
        "<@(link_time_optimization)",
        # An addon that only workers loaded is unmapped while its threads may still run.
        "-Wl,-z,nodelete",
        "-Wl,--gc-sections",
      ],
    }
  ]
}
