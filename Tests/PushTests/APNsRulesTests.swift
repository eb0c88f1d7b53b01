import HoldfastCore
import HoldfastPorts
import HoldfastRelayData
import HoldfastTestKit
import Testing

@testable import HoldfastPush

/// Keys that OpenSSL creates for these tests. They give access to no service.
enum SampleKey {
  static func make(_ arguments: String, _ scratch: Scratch, to name: String) async throws -> String
  {
    let command = "umask 077; cd '\(scratch.path)' && openssl \(arguments) > \(name)"
    try await Shell.run(["sh", "-c", command])
    return scratch(name)
  }

  static func p256(_ scratch: Scratch) async throws -> String {
    _ = try await make("ecparam -name prime256v1 -genkey -noout", scratch, to: "plain")
    return try await make("pkcs8 -topk8 -nocrypt -in plain", scratch, to: "AuthKey.p8")
  }
}

@Suite(.timeLimit(.minutes(60))) struct `The provider's key` {
  @Test func `a file that others can read or change is refused`() async throws {
    let scratch = try Scratch()
    let path = try await SampleKey.p256(scratch)
    for mode in ["640", "604", "620", "602"] {
      try await Shell.run(["chmod", mode, path])
      #expect(throws: ProviderKeyError.openToOthers(path: path)) { try ProviderKey(path: path) }
    }
    try await Shell.run(["chmod", "400", path])
    _ = try ProviderKey(path: path)
  }

  @Test func `a missing file, a directory and a pipe are distinguished from a key`() async throws {
    let scratch = try Scratch()
    let missing = scratch("none")
    #expect(
      throws: ProviderKeyError.unreadable(path: missing, detail: "No such file or directory")
    ) { try ProviderKey(path: missing) }
    try await Shell.run(["mkfifo", "-m", "600", scratch("pipe")])
    for path in [scratch.path, scratch("pipe")] {
      #expect(throws: ProviderKeyError.unreadable(path: path, detail: "is not a regular file")) {
        try ProviderKey(path: path)
      }
    }
  }

  @Test(arguments: [
    "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048",
    "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384",
    "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -aes128 -pass pass:secret",
    "version",
  ])
  func `a key of another type, an encrypted key and an invalid key are refused`(arguments: String)
    async throws
  {
    let scratch = try Scratch()
    let path = try await SampleKey.make(arguments, scratch, to: "key")
    #expect(throws: ProviderKeyError.unusable) { try ProviderKey(path: path) }
  }

  @Test func `it is never printed`() async throws {
    let scratch = try Scratch()
    let key = try ProviderKey(path: await SampleKey.p256(scratch))
    var dumped = ""
    dump(key, to: &dumped)
    for text in ["\(key)", String(reflecting: key), dumped] {
      #expect(text.contains("ProviderKey"))
      #expect(!text.contains("PRIVATE") && !text.contains("45"))
    }
  }
}

@Suite(.timeLimit(.minutes(60))) struct `The provider's token` {
  private func tokens() async throws -> ProviderTokens {
    let scratch = try Scratch()
    let key = try ProviderKey(path: await SampleKey.p256(scratch))
    return ProviderTokens(key: key, keyID: "k", team: "t")
  }

  @Test func `is used for 50 minutes, and not a moment longer`() async throws {
    var tokens = try await tokens()
    let wall = Timestamp(nanoseconds: 0)
    let nearly = Instant.second(3_000).advanced(by: .nanoseconds(-1))
    let made = [Instant.zero, nearly, .second(3_000)].map { tokens.token(at: $0, wall: wall) }
    #expect(made[0] != nil)
    #expect(made[1] == made[0])
    #expect(made[2] != made[0])
  }

  @Test func `is not replaced within 20 minutes`() async throws {
    var tokens = try await tokens()
    let wall = Timestamp(nanoseconds: 0)
    let first = tokens.token(at: .zero, wall: wall) ?? ""
    let nearly = Instant.second(1_200).advanced(by: .nanoseconds(-1))
    let early = tokens.expire(first, at: nearly)
    #expect(!early)
    let due = tokens.expire(first, at: .second(1_200))
    #expect(due)
    let second = tokens.token(at: .second(1_200), wall: wall)
    #expect(second != first)
    // Another push has already replaced the token.
    let again = tokens.expire(first, at: .second(1_201))
    #expect(again)
    let third = tokens.token(at: .second(1_201), wall: wall)
    #expect(third == second)
  }
}

@Suite struct `Patience with the service` {
  @Test func `each consecutive failure doubles the wait, up to five minutes`() {
    var patience = Patience(generator: RandomSource(seed: 3))
    var now = Instant.zero
    for failure in 0..<12 {
      let wait = patience.failed(sent: now, at: now, retryAfter: nil)
      let base = min(Duration.seconds(1 << failure), .seconds(300))
      #expect((max(base * 0.75, .seconds(1))...base * 1.25).contains(wait))
      #expect(patience.wait(at: now.advanced(by: wait - .nanoseconds(1))) == .nanoseconds(1))
      now = now.advanced(by: wait)
      #expect(patience.wait(at: now) == nil)
      now = now.advanced(by: .nanoseconds(1))
    }
  }

  @Test func `concurrent pushes that fail count once`() {
    var patience = Patience(generator: RandomSource(seed: 3))
    let first = patience.failed(sent: .zero, at: .second(1), retryAfter: nil)
    let second = patience.failed(sent: .second(0.5), at: .second(1), retryAfter: nil)
    #expect(first == second)
    // A push that was sent before the failure has no bearing on the time after the failure.
    patience.succeeded(sent: .second(0.9))
    #expect(patience.wait(at: .second(1)) == first)
    let next = patience.failed(sent: .second(10), at: .second(10), retryAfter: nil)
    #expect(next > first)
    patience.succeeded(sent: .second(60))
    let afterwards = patience.failed(sent: .second(70), at: .second(70), retryAfter: nil)
    #expect(afterwards < .seconds(1.26))
  }

  @Test(arguments: [(3_599, 3_599), (3_600, 3_600), (3_601, 3_600)])
  func `honors a retry-after of up to an hour`(retryAfter: Int, wait: Int) {
    var patience = Patience(generator: RandomSource(seed: 3))
    let delay = patience.failed(sent: .zero, at: .zero, retryAfter: .seconds(retryAfter))
    #expect(delay == .seconds(wait))
  }

  @Test func `a device is held back until its time is over`() {
    var holds = Holds()
    holds.hold("a", until: .second(30), at: .zero)
    #expect(holds.wait("a", at: .second(29)) == .seconds(1))
    #expect(holds.wait("a", at: .second(30)) == nil)
    #expect(holds.wait("b", at: .zero) == nil)
  }

  @Test func `if too many devices are held back, the first to expire is released`() {
    var holds = Holds()
    for number in 0...Holds.limit {
      holds.hold("\(number)", until: .second(Double(100 + number)), at: .zero)
    }
    #expect(holds.wait("0", at: .zero) == nil)
    #expect(holds.wait("1", at: .zero) == .seconds(101))
    #expect(holds.wait("\(Holds.limit)", at: .zero) != nil)
    // Devices whose hold has expired are released first.
    holds.hold("new", until: .second(5_000), at: .second(500))
    #expect(holds.wait("401", at: .second(500)) == .seconds(1))
  }
}

@Suite struct `Answers of the service` {
  private func answer(_ status: Int, _ body: String, _ retryAfter: Duration? = nil) -> APNsAnswer {
    APNsAnswer(
      HTTPAnswer(status: status, headers: [:], body: Array(body.utf8), retryAfter: retryAfter))
  }

  @Test func `every kind of response is distinguished`() {
    #expect(answer(200, "") == .taken)
    #expect(answer(410, #"{"reason":"Unregistered","timestamp":1}"#) == .gone)
    #expect(answer(403, #"{"reason":"ExpiredProviderToken"}"#) == .tokenExpired)
    #expect(answer(429, #"{"reason":"TooManyRequests"}"#) == .tooManyForDevice)
    #expect(
      answer(429, #"{"reason":"TooManyProviderTokenUpdates"}"#)
        == .busy(retryAfter: .seconds(1_200)))
    #expect(answer(503, "{}") == .busy(retryAfter: nil))
    #expect(answer(503, "", .seconds(3)) == .busy(retryAfter: .seconds(3)))
    #expect(answer(502, "<html>") == .failing(cause: "APNs answered 502"))
    #expect(answer(404, #"{"reason":"BadPath"}"#) == .refused(cause: "APNs answered 404 BadPath"))
  }

  @Test(arguments: [
    "", "null", "[]", "{", #"{"reason":7}"#, #"{"reason":""}"#, #"{"reason":"two words"}"#,
    #"{"reason":"line\nbreak"}"#, #"{"reason":"\#(String(repeating: "a", count: 65))"}"#,
  ])
  func `an invalid reason is omitted`(body: String) {
    #expect(answer(400, body) == .refused(cause: "APNs answered 400"))
  }

  @Test func `a device with too many pushes is held back, and others are not`() async throws {
    let scratch = try Scratch()
    let key = try ProviderKey(path: await SampleKey.p256(scratch))
    let clock = TestClock()
    let network = FakeNetwork(clock: clock)
    network.serve { request in
      let isBusy = request.url.hasSuffix("/aa")
      return .success(HTTPAnswer(status: isBusy ? 429 : 200, headers: [:], body: []))
    }
    let configuration = APNsConfiguration(keyID: "k", team: "t", topic: "example.holdfast")
    let sender = APNsSender(
      configuration, key: key, network: network, clock: clock, generator: RandomSource(seed: 1))
    guard case .tooMany(let wait) = await sender.send(.apns("aa")) else {
      Issue.record("not told")
      return
    }
    #expect((Holds.duration..<Holds.duration * 2).contains(wait))
    #expect(await sender.send(.apns("aa")) == .tooMany(retryAfter: wait))
    #expect(await sender.send(.apns("bb")) == .delivered)
    #expect(
      await sender.send(.apns("bb", topic: "example.other"))
        == .failed(cause: "the address belongs to another app"))
    #expect(
      await sender.send(.hook())
        == .failed(cause: "the address does not belong to Apple's push service"))
  }
}
