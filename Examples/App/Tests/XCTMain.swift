import Testing

/// The program of all tests. Without it the package manager looks for tests of XCTest in an index of
/// the sources, which takes a tenth of the compiler's time to write.
@main struct TestProgram {
  static func main() async {
    await Testing.__swiftPMEntryPoint() as Never
  }
}
