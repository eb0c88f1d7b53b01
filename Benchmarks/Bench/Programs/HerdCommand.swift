import HoldfastCommandKit
import HoldfastCore
import HoldfastHerd

/// The command `HoldfastBench herd`, which simulates a fleet and its server after an outage.
enum HerdCommand {
  private static let clients = Parameter.option(
    "clients", .integer("N", 1...5_000_000), default: 100_000,
    "how many are connected when it begins; 1 GB of memory for each million")
  private static let policy = Parameter.option(
    "policy", .text("NAME|FILE"), default: LinkPolicy.messageStream.name,
    "their policy: a name, or a JSON file as for `holdfast policy check`")
  private static let outage = Parameter.option(
    "outage", .duration(.zero ... .seconds(14_400)), default: .seconds(600),
    "until a server takes connections again; 0s where another one takes over at once")
  private static let cause = Parameter.option(
    "cause", Format<Outage.Cause>.choice("CAUSE", note: ""), default: .crash,
    "how connections end, and what a try meets meanwhile")
  private static let capacity = Parameter.optional(
    "capacity", Format.rate, usual: "everybody within a minute: clients / 60",
    "connections that the server takes in a second, or off")
  private static let full = Parameter.option(
    "when-full", Format<Door.WhenFull>.choice("RULE", note: ""), default: .refuse,
    "what becomes of the others: refuse (503, Retry-After 2s), or wait (in a queue)")
  private static let seed = Parameter.option(
    "seed", .integer("S", 0...Int.max), default: 1, "the start of all chance")
  private static let alone = Parameter.flag("alone", "leave the naive clients out")
  private static let svg = Parameter.optional(
    "svg", .text("FILE"), "write a chart there")

  static var command: Command {
    Command(
      "herd", "see what a fleet does to its server after an outage",
      details: [
        """
        Each client is the real link with a line of its own: a round trip of 20 ms to 120 ms, one \
        for TCP and TLS before the upgrade arrives. Tokens stay valid and polls are always \
        answered. Beside them the same outage meets three naive clients of the field.
        """,
        """
        CAUSE: crash (reset, then refused), refused (ended without a close frame, then refused), \
        close (1012, then refused), drain (a notice with a window of 5s, 1001 after 1s, then \
        refused), unavailable (reset, then 503 of a balancer), unreachable (no word, no answer).
        """,
        """
        With --json there is one object for each fleet: name, clients, cause, outage, capacity, \
        whenFull, seed, peak, peakAfter, peakPolls (second, count), tries, accepted, refused, \
        wasted, polls, back50, back99, backAll (seconds after the server's return, or null), away, \
        gaveUp, and seconds (tries, accepted, polls and connected of each).
        """,
      ],
      examples: [
        .init(
          "HoldfastBench herd --cause close --outage 30s", "a deploy"),
        .init(
          "HoldfastBench herd --clients 1000000 --svg herd.svg --set retry.serverJitter=30s",
          "a wider spread, with a chart"),
      ],
      takes: clients, policy, Shared.settings, outage, cause, capacity, full, seed, alone, svg,
      Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let herd = Herd.policy(try PolicyFile.policy(call[policy], call[Shared.settings]))
    if let obstacle = herd.obstacle { throw CommandFailure(.usage, obstacle) }
    if let path = call[svg] { try TextFile.mustBeWritable(path) }
    let plan = plan(call)
    let results = await play([herd] + (call[alone] ? [] : Naive.allCases.map(Herd.naive)), plan)
    if call[Shared.json] {
      for result in results {
        call.console.object { result.write(to: &$0) }
      }
    } else {
      for line in HerdReport.lines(results, call.console.style) { call.console.line(line) }
    }
    if let path = call[svg] { try TextFile.write(HerdChart(results).svg.utf8, to: path) }
  }

  private static func plan(_ call: Invocation) -> HerdPlan {
    // This capacity lets all clients return within a minute if they arrive evenly.
    let fair = (call[clients] + 59) / 60
    let bound = call[capacity].map { $0 == .max ? nil : $0 } ?? fair
    return HerdPlan(
      clients: call[clients], outage: Outage(call[cause], for: call[outage]),
      door: Door(capacity: bound, whenFull: call[full]), seed: UInt64(call[seed]))
  }

  /// Simulates the policy's herd concurrently with the naive herds, to use two cores.
  private static func play(_ herds: [Herd], _ plan: HerdPlan) async -> [HerdResult] {
    await withTaskGroup(of: (at: Int, results: [HerdResult]).self) { group in
      for part in [herds.prefix(1), herds.dropFirst()] {
        group.addTask { (part.startIndex, part.map { $0.play(plan) }) }
      }
      var parts: [(at: Int, results: [HerdResult])] = []
      for await part in group { parts.append(part) }
      return parts.sorted { $0.at < $1.at }.flatMap(\.results)
    }
  }
}

extension Format<Int> {
  /// The format of a rate per second, with or without `/s`. `Int.max` represents `off`.
  fileprivate static let rate = Format(
    placeholder: "N/s", expectation: "a whole number from 1 to 10000000, then /s, or off"
  ) {
    if $0 == "off" { return .max }
    let number = $0.hasSuffix("/s") ? String($0.dropLast(2)) : $0
    return Int(number).flatMap { (1...10_000_000).contains($0) ? $0 : nil }
  } write: {
    $0 == .max ? "off" : "\($0)/s"
  }
}
