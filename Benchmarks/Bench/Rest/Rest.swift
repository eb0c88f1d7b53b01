import Holdfast
import HoldfastBackend
import HoldfastCore
import HoldfastMessageStream

/// The idle cost and the latency of a link, compared with the limits in the requirements.
enum Rest {
  static func benchmarks(isFull: Bool) -> [Benchmark] {
    [
      Benchmark(
        name: "connect", question: "from opening a shop to CONNECTED, first page included",
        unit: "ms", better: .less,
        subject: Contender(name: "holdfast", measure: connect),
        peers: [ceiling(500)]),
      Benchmark(
        name: "delivery", question: "from a post to the message on another phone, p99 of 300",
        unit: "ms", better: .less,
        subject: Contender(name: "holdfast, durable at the server and the phone", measure: deliver),
        peers: [ceiling(50)], rounds: (3, 5)),
      Benchmark(
        name: "stream-memory",
        question: "memory of one more open stream of an app, its part of the server included",
        unit: "bytes", better: .less,
        subject: Contender(name: "holdfast") {
          try await Peer.ours("streams").figure([isFull ? "200" : "48"])
        },
        peers: [ceiling(1_048_576, aim: 0.1)], rounds: (3, 5)),
      Benchmark(
        name: "idle-processor",
        question: "processor of one idle stream, its part of the server included, a ping a second",
        unit: "%", better: .less,
        subject: Contender(name: "holdfast") { try await processor(streams: 50) },
        peers: [ceiling(1, aim: 0.1)], rounds: (2, 3)),
    ] + lab(isFull: isFull)
  }

  /// Returns the benchmarks of the traffic captured on the phone's Wi-Fi, and of thread wake-ups.
  private static func lab(isFull: Bool) -> [Benchmark] {
    let rounds = Rounds { try await RestLab.play(for: .seconds(isFull ? 20 : 5)) }
    return [
      Benchmark(
        name: "idle-traffic",
        question: "one idle stream in a minute with pings every 54 s, with TCP and IP",
        unit: "bytes", better: .less,
        subject: rounds.contender("holdfast", figure: "bytes"), peers: [ceiling(500)],
        rounds: (1, 3)),
      Benchmark(
        name: "idle-frames", question: "the same without TCP and IP: frames of WebSocket",
        unit: "bytes", better: .less,
        subject: rounds.contender("holdfast", figure: "carried"), peers: [ceiling(500)],
        rounds: (1, 3)),
      Benchmark(
        name: "idle-wakes", question: "how often a thread of the phone's process wakes in a minute",
        unit: "wakes", better: .less,
        subject: rounds.contender("holdfast", figure: "wakes"), peers: [], rounds: (1, 3)),
    ]
  }

  private static func ceiling(_ value: Double, aim: Double = 1) -> Contender {
    Contender(name: "the seed's ceiling", aim: aim) { value }
  }

  private static func connect() async throws -> Double {
    let house = try await Household()
    let start = ContinuousClock.now
    let phone = try await house.phone("ann")
    let taken = start.duration(to: .now).inSeconds * 1000
    await house.close([phone])
    return taken
  }

  private static func deliver() async throws -> Double {
    let house = try await Household()
    let (ann, ben) = (try await house.phone("ann"), try await house.phone("ben"))
    var times: [Double] = []
    for number in 0..<300 {
      let start = ContinuousClock.now
      ann.enqueue("message \(number)")
      try await ben.shows("message \(number)")
      times.append(start.duration(to: .now).inSeconds * 1000)
    }
    await house.close([ann, ben])
    return Statistics.quantile(0.99, of: times)
  }

  /// Returns the memory that one more stream takes in an app that already has a stream.
  ///
  /// The result is an average over as many streams as an app may have.
  static func memory(streams count: Int) async throws -> Double {
    let house = try await Household()
    var apps: [ShopStreams] = []
    var open: [ShopStream] = []
    let more = ShopStreams.limit - 1
    for number in 0..<max(1, count / more) {
      apps.append(try await house.app("user\(number)"))
      open.append(try await house.stream(of: 0, in: apps[number]))
    }
    let before = try Usage.memory()
    for index in 1...more {
      for app in apps { open.append(try await house.stream(of: index, in: app)) }
    }
    let after = try Usage.memory()
    await house.close(open)
    return (after - before) / Double(more * apps.count)
  }

  private static func processor(streams count: Int) async throws -> Double {
    let house = try await Household(pingInterval: .seconds(1))
    var phones: [ShopStream] = []
    for number in 0..<count { phones.append(try await house.phone("user\(number)")) }
    try await Task.sleep(for: .seconds(1))
    let (start, before) = (ContinuousClock.now, Usage.processor)
    try await Task.sleep(for: .seconds(5))
    let used = Usage.processor - before
    let share = used.inSeconds / start.duration(to: .now).inSeconds / Double(count)
    await house.close(phones)
    return share * 100
  }
}

extension ShopStream {
  /// Reads updates until a message with the given text is shown.
  func shows(_ text: String) async throws {
    for await case .messages(let messages, via: _) in self
    where messages.contains(where: { $0.text == text }) {
      return
    }
    throw Unavailable("the stream ended before \(text)")
  }
}
