# cmake -DOUT=embedded.cpp -DABI=abi.h -DPROGRAM=bundle_program.h -P embed.cmake: the texts of gate/embedded.h as C++.
file(READ ${ABI} abi)
file(READ ${PROGRAM} program)
file(WRITE ${OUT} "#include \"gate/embedded.h\"\nnamespace assay {\n"
     "const std::string_view kAbiHeader = R\"__embedded(${abi})__embedded\";\n"
     "const std::string_view kBundleProgram = R\"__embedded(${program})__embedded\";\n}\n")
