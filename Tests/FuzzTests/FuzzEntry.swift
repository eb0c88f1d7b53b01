#if os(Linux)
  // This is the entry point of libFuzzer, which scripts/fuzz links. The ordinary tests do not call
  // it.
  import Glibc

  /// The target that an environment variable selects.
  private let target: FuzzTarget = {
    let name = unsafe getenv("FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
      let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: " ")
      print("FUZZ_TARGET must be one of: \(names)")
      exit(2)
    }
    return target
  }()

  /// Checks one input against the selected target. libFuzzer reports an abort as a finding.
  @_cdecl("LLVMFuzzerTestOneInput")
  public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    do {
      try target.check(bytes)
    } catch {
      print(error)
      fflush(nil)
      abort()
    }
    return 0
  }
#endif
