import Holdfast
import HoldfastCore
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastPorts
import HoldfastRelayData
import HoldfastTestKit
import Synchronization

/// An in-memory backend for pulls that records the requests it receives.
final class PullRig: Sendable {
  struct Seen: Sendable {
    var url: String
    var authorization: String
    var body: [UInt8]
  }

  static let server = "https://backend.example"
  static let token = "resume-token-0123456789"
  static let query = HealthDataQuery(
    valueType: .steps, start: .instant(Timestamp(nanoseconds: 0), minutesEast: nil),
    end: .instant(Timestamp(nanoseconds: 3_600_000_000_000), minutesEast: nil))

  let clock = TestClock()
  let network: FakeNetwork
  private let log = Log()

  private final class Log: Sendable {
    let seen = Mutex<[Seen]>([])
  }

  /// Creates a backend that responds to each request with the result of `answers`.
  ///
  /// - Parameter answers: A function of the request and the number of earlier requests to the same
  ///   URL.
  init(_ answers: @escaping @Sendable (Seen, Int) async -> Result<HTTPAnswer, LinkFailure>) {
    network = FakeNetwork(clock: clock)
    network.serve { [log] request in
      let one = Seen(
        url: request.url,
        authorization: request.headers.first { $0.name == "Authorization" }?.value ?? "",
        body: request.body)
      let before = log.seen.withLock { all in
        defer { all.append(one) }
        return all.filter { $0.url == one.url }.count
      }
      return await answers(one, before)
    }
  }

  /// Creates a backend that leases one round of questions at a time and accepts every answer.
  convenience init(rounds: [[LeasedQuestion]]) {
    self.init { request, before in
      guard request.url.hasSuffix("/relay/lease") else { return .success(.empty(200)) }
      let questions = before < rounds.count ? rounds[before] : []
      return .success(.leased(questions))
    }
  }

  var requests: [Seen] { log.seen.withLock { $0 } }

  /// Returns the posted results, decoded as the backend decodes them.
  func results() throws -> [LeasedResult] {
    try requests.filter { $0.url == Self.server + "/relay/results" }
      .map { try LeasedResult.read($0.body) }
  }

  func pull(
    _ answer: @escaping HealthPull.Answering = { _, _ in .sample }
  ) -> HealthPull {
    let ports = DevicePorts(network: network, clock: clock)
    let pull = try? HealthPull(
      server: Self.server, token: Secret(Self.token), ports: ports, answer: answer)
    guard let pull else { preconditionFailure("the URL of the server is valid") }
    return pull
  }

  /// Runs a pull. Advances the clock to each of the given seconds once the pull waits for it.
  func run(_ pull: HealthPull, passing seconds: Double...) async -> PullReport {
    let passing = Task { [clock] in
      for second in seconds {
        await clock.someoneWaits(for: .second(second))
        clock.advance(to: .second(second))
      }
    }
    defer { passing.cancel() }
    return await pull.run()
  }

  /// Waits until the calling task is canceled.
  static func hang() async {
    let (never, end) = AsyncStream.makeStream(of: Void.self)
    for await _ in never {}
    end.finish()
  }

  static func question(_ number: Int) -> LeasedQuestion {
    guard let id = RelayRequestID("q\(number)") else { preconditionFailure("a short id is one") }
    return LeasedQuestion(id: id, question: .healthData(query), lease: "lease\(number)")
  }
}

extension HealthObject {
  static let sample = HealthObject(
    succeeded: true, bytes: Array(#"{"success":true,"count":0,"health_data":[]}"#.utf8))

  /// Returns a successful answer of about `bytes` bytes.
  static func long(_ bytes: Int) -> HealthObject {
    let text =
      #"{"success":true,"count":0,"health_data":[],"note":"\#(String(repeating: "é\"", count: bytes / 3))"}"#
    return HealthObject(
      succeeded: true, bytes: Array(text.replacing("é\"", with: "é\\\"").utf8))
  }
}

extension HTTPAnswer {
  static func empty(_ status: Int) -> HTTPAnswer {
    HTTPAnswer(status: status, headers: [:], body: [])
  }

  static func leased(_ questions: [LeasedQuestion]) -> HTTPAnswer {
    let body = LeasedQuestions(questions: questions, expiresIn: .seconds(25)).bytes
    return HTTPAnswer(status: 200, headers: [:], body: body)
  }
}
