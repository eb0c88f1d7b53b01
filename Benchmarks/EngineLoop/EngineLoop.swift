import HoldfastEngineBench

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A program that only runs a scenario, so that an instruction counter can measure it.
///
/// `HoldfastEngineLoop SCENARIO COUNT` prints the number of inputs.
@main
struct EngineLoop {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    guard let name = arguments.first, let scenario = EngineScenario(rawValue: name),
      let count = arguments.last.flatMap({ Int($0) }), count >= 0
    else {
      print(
        "usage: HoldfastEngineLoop \(EngineScenario.allCases.map(\.rawValue).joined(separator: "|")) COUNT"
      )
      exit(2)
    }
    print(scenario.play(count))
  }
}
