import HoldfastCore
import HoldfastCurlNetwork
import HoldfastRelayData
import HoldfastTestKit
import Testing

@testable import HoldfastPush

/// Tests of the sender over HTTP/2 and TLS, with a server that is built from third-party libraries.
@Suite(
  .timeLimit(.minutes(60)),
  .enabled(if: APNsStandIn.isThere, "python3-h2 and python3-cryptography are not installed"))
struct `APNs over HTTP/2` {
  @Test func `a push carries Apple's fields, a token that verifies, and nothing else`()
    async throws
  {
    let service = try await APNsStandIn()
    let wall = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
    let sender = try service.sender(clock: TestClock(wall: wall))
    #expect(await sender.send(.apns("00ff")) == .delivered)
    var seen = try await service.next()
    // The headers that identify libcurl differ between its versions.
    for name in ["accept", "accept-encoding", "user-agent"] { seen.headers[name] = nil }
    #expect(
      seen
        == APNsStandIn.Seen(
          connection: 1, method: "POST", path: "/3/device/00ff",
          headers: [
            "apns-topic": "example.holdfast", "apns-push-type": "background",
            "apns-priority": "5", "apns-expiration": "1700000045", "apns-collapse-id": "phone-1",
            "content-type": "application/json", "content-length": "31",
          ],
          body: #"{"aps":{"content-available":1}}"#, faults: [], iat: 1_700_000_000))
  }

  @Test func `the stand-in detects a signature of another key, and another team`() async throws {
    let service = try await APNsStandIn()
    let scratch = try Scratch()
    let sender = APNsSender(
      APNsConfiguration(
        keyID: APNsStandIn.keyID, team: "another", topic: "example.holdfast",
        service: service.url),
      key: try ProviderKey(path: await SampleKey.p256(scratch)),
      network: try CurlNetwork(CurlConfiguration(authorities: service.authorities)),
      generator: RandomSource(seed: 1))
    _ = await sender.send(.apns())
    #expect(try await service.next().faults == ["claims", "InvalidSignature"])
  }

  @Test func `pushes share one connection, even concurrent ones`() async throws {
    let service = try await APNsStandIn()
    let sender = try service.sender()
    await withTaskGroup(of: PushOutcome.self) { group in
      for _ in 0..<20 { group.addTask { await sender.send(.apns()) } }
      for await outcome in group { #expect(outcome == .delivered) }
    }
    #expect(await sender.send(.apns()) == .delivered)
    for _ in 0..<21 { #expect(try await service.next().connection == 1) }
  }

  @Test(arguments: [
    (410, "Unregistered", PushOutcome.gone), (410, "ExpiredToken", .gone),
    (400, "BadDeviceToken", .gone),
    (400, "BadTopic", .failed(cause: "APNs answered 400 BadTopic")),
    (400, "DeviceTokenNotForTopic", .failed(cause: "APNs answered 400 DeviceTokenNotForTopic")),
    (403, "InvalidProviderToken", .failed(cause: "APNs answered 403 InvalidProviderToken")),
    (500, "InternalServerError", .failed(cause: "APNs answered 500 InternalServerError")),
  ])
  func `each response is mapped to its outcome`(
    status: Int, reason: String, outcome: PushOutcome
  ) async throws {
    let service = try await APNsStandIn()
    try await service.plan(status, reason)
    #expect(await (try service.sender()).send(.apns()) == outcome)
  }

  @Test func `a busy service is not called before its retry-after`() async throws {
    let service = try await APNsStandIn()
    let clock = TestClock()
    let sender = try service.sender(clock: clock)
    try await service.plan(503, "Shutdown", headers: ["retry-after": "7"])
    #expect(await sender.send(.apns()) == .tooMany(retryAfter: .seconds(7)))
    clock.advance(by: .seconds(7) - .nanoseconds(1))
    #expect(await sender.send(.apns()) == .tooMany(retryAfter: .nanoseconds(1)))
    clock.advance(by: .nanoseconds(1))
    #expect(await sender.send(.apns()) == .delivered)
    _ = try await service.next()
    #expect(try await service.next().connection == 1)
  }

  @Test func `reconnects after the service closes the connection`() async throws {
    let service = try await APNsStandIn()
    let sender = try service.sender()
    await service.planGoodbye()
    #expect(await sender.send(.apns()) == .delivered)
    #expect(await sender.send(.apns()) == .delivered)
    #expect(try await service.next().connection == 1)
    #expect(try await service.next().connection == 2)
  }

  @Test func `a silent connection is not used again`() async throws {
    let service = try await APNsStandIn()
    let clock = TestClock()
    let sender = try service.sender(clock: clock, timeout: .seconds(2))
    // On a busy machine, making a connection can take more than two seconds.
    func deliver() async {
      var outcome = await sender.send(.apns())
      while case .failed = outcome {
        clock.advance(by: .seconds(600))
        outcome = await sender.send(.apns())
      }
      #expect(outcome == .delivered)
    }
    await deliver()
    let used = try await service.next().connection
    await service.planSilence()
    #expect(
      await sender.send(.apns()) == .failed(cause: "APNs gave no answer: timeout"))
    #expect(try await service.next().connection == used)
    clock.advance(by: .seconds(2))
    await deliver()
    #expect(try await service.next().connection > used)
  }

  @Test func `without HTTP/2 nothing is sent on`() async throws {
    let service = try await APNsStandIn(speaks: "http/1.1")
    #expect(
      await (try service.sender()).send(.apns())
        == .failed(cause: "APNs gave no answer: protocolError"))
  }

  @Test func `a service with an untrusted certificate gets no token`() async throws {
    let service = try await APNsStandIn()
    let sender = APNsSender(
      APNsConfiguration(keyID: "k", team: "t", topic: "example.holdfast", service: service.url),
      key: try ProviderKey(path: service.keyPath), network: try CurlNetwork(),
      generator: RandomSource(seed: 1))
    #expect(await sender.send(.apns()) == .failed(cause: "APNs gave no answer: tls"))
  }

  @Test func `a token that the service reports as expired is replaced, if it is old enough`()
    async throws
  {
    let service = try await APNsStandIn()
    let clock = TestClock(wall: Timestamp(nanoseconds: 1_000_000_000))
    let sender = try service.sender(clock: clock)
    #expect(await sender.send(.apns()) == .delivered)
    #expect(try await service.next().iat == 1)
    clock.advance(by: .seconds(1_200))
    try await service.plan(403, "ExpiredProviderToken")
    #expect(await sender.send(.apns()) == .delivered)
    #expect(try await service.next().iat == 1)
    #expect(try await service.next().iat == 1_201)
    try await service.plan(403, "ExpiredProviderToken")
    guard case .failed(let cause) = await sender.send(.apns()) else {
      Issue.record("a fresh token was replaced")
      return
    }
    #expect(cause.contains("clock"))
  }
}
