import HoldfastCommandKit
import HoldfastJSON
import HoldfastLinkChecks
import HoldfastLinkTrace
import HoldfastRunTraces
import HoldfastSimulator
import HoldfastWorlds

/// The command `holdfast-sim simulate all`: plays all listed worlds in sequence.
enum SimulateAllCommand {
  private static let defect = Parameter.optional(
    "break", Format<Defects<NoName>>.defects(), usual: "no defect",
    "all proves that each deliberate defect of each world is caught")

  /// The names of the defects that exist in every world. There are none.
  private enum NoName: RawRepresentable, CaseIterable, Hashable {
    init?(rawValue: String) { nil }
    static var allCases: [NoName] { [] }
    var rawValue: String { switch self {} }
  }

  static var command: Command {
    Command(
      "all", "play every world",
      details: [
        """
        Plays the same seeds in every world, and exits with 0 if nothing was found in any. With \
        --json the objects of a world follow one of event "world" with its name.
        """,
        """
        With --html the first failed run of each world has a page in the folder, such as \
        message-stream-plain-7.html. A line after the failures names it. `simulate WORLD --help` \
        says what a page shows.
        """,
      ],
      examples: [
        .init("holdfast-sim simulate all --preset all --seeds 1..2600", "what make sim plays"),
        .init("holdfast-sim simulate all --break all", "checks that each defect is caught"),
      ],
      takes: SimulateParameters.preset([.swarm]), SimulateParameters.seeds, defect,
      SimulateParameters.jobs, SimulateParameters.runLimit, SimulateParameters.htmlFolder,
      Shared.json,
      action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let watch = SimulateWatch(call)
    try await watch.untilStopped { () async throws(CommandFailure) in try await work(call, watch) }
  }

  private static func work(_ call: Invocation, _ watch: SimulateWatch) async throws(CommandFailure)
  {
    var call = call
    var failures: [CommandFailure] = []
    for world in Worlds.traced {
      guard !Task.isCancelled else {
        failures.append(SimulateCommands.stopped())
        break
      }
      do throws(CommandFailure) {
        try await play(world, call, watch)
      } catch {
        failures.append(error)
        call.console.endsWhenClosed = .failed
        // The failure already reports that not everything was played.
        if Task.isCancelled { break }
      }
    }
    guard let first = failures.first else { return }
    throw failures.count == 1
      ? first : CommandFailure(.failed, failures.map(\.cause).joined(separator: "; "))
  }

  private static func play<Feature: SimulatedFeature & TracedFeature>(
    _ world: Feature.Type, _ call: Invocation, _ watch: SimulateWatch
  ) async throws(CommandFailure) {
    watch.output.put { head(world, call) }
    do throws(CommandFailure) {
      try await SimulateWorldCommand<Feature>.work(
        try SimulateRequest<Feature>(call, watch), call, isOfAll: true)
    } catch {
      throw CommandFailure(error.code, "\(Feature.name): \(error.cause)", remedy: error.remedy)
    }
  }

  /// Prints the name of the world to which the following lines belong.
  private static func head<Feature: SimulatedFeature>(_ world: Feature.Type, _ call: Invocation) {
    guard call[Shared.json] else {
      return call.console.line(call.console.style.heading(Feature.name))
    }
    call.console.object { writer in
      writer.key("event")
      writer.string("world")
      writer.key("name")
      writer.string(Feature.name)
    }
  }
}
