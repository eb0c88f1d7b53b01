import HoldfastEngineBench

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Plays a scenario and does nothing else, so that a counter of instructions can stand beside it:
/// `EngineLoop SCENARIO COUNT` prints how many inputs were given.
@main
struct EngineLoop {
  static func main() {
    let words = CommandLine.arguments.dropFirst()
    guard let name = words.first, let scenario = EngineScenario(rawValue: name),
      let count = words.last.flatMap({ Int($0) }), count >= 0
    else {
      print(
        "usage: EngineLoop \(EngineScenario.allCases.map(\.rawValue).joined(separator: "|")) COUNT")
      exit(2)
    }
    print(scenario.play(count))
  }
}
