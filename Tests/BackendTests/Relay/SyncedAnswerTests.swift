import Foundation
import Holdfast
import HoldfastAssistants
import HoldfastBackend
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastHealthSamples
import HoldfastRelayServer
import HoldfastServerParts
import HoldfastSyncData
import HoldfastTestKit
import Testing

/// Tests of answers from synced samples with a real phone, over real sockets and files.
@Suite(.offThePool, .timeLimit(.minutes(60))) struct SyncedAnswerTests {
  private static let secret = "hush-hush-hush-hush"
  /// 2026-01-18, 20:00 UTC.
  private static let start: Int64 = 1_768_766_400

  private static let question = HealthQuestion.healthData(
    HealthDataQuery(
      valueType: .steps, start: .local(CivilTime(nanoseconds: (start - 86_400) * 1_000_000_000)),
      end: .local(CivilTime(nanoseconds: (start + 86_400) * 1_000_000_000)), groupBy: .total))

  /// The parts of a run: the backend, its phone, and an assistant's token.
  private struct Run {
    var rig: BackendRig
    var relay: Relay
    var token: String

    /// Asks the question, and returns the merged number and the origin of the answer.
    func ask() async throws -> Told {
      let outcome = try await rig.backend.ask(.question(SyncedAnswerTests.question), bearer: token)
      guard case .data(let object) = outcome else { return Told(refusal: outcome.name) }
      return try JSONDecoder().decode(Told.self, from: Data(object.bytes))
    }

    /// Sends a batch of two samples, or deletes one of them.
    func sync(deleting: [UInt64] = []) async throws {
      let records: [UInt64] = deleting.isEmpty ? [1, 2] : []
      let batch = SyncBatch(
        dataType: SyncSamples.steps,
        records: records.map {
          SyncSamples.record(SyncedAnswerTests.start + Int64($0), value: 40, uuid: $0)
        }, deletedUUIDs: deleting.map(SyncSamples.uuid),
        timestamp: SyncSamples.time(SyncedAnswerTests.start + 60))
      let answer = try await rig.client().ask(
        "POST", "/api/sync", token: SyncedAnswerTests.secret,
        body: String(decoding: batch.bytes, as: UTF8.self))
      #expect(answer.status == 200)
    }
  }

  private struct Told: Decodable, Equatable {
    var health_data: [Point]?
    var source: String?
    var as_of: String?
    var notes: [String]?
    var refusal: String?

    struct Point: Decodable, Equatable {
      var value: Double
    }
  }

  private static func told(_ value: Double?, synced: Bool) -> Told {
    Told(
      health_data: value.map { [Told.Point(value: $0)] } ?? [], source: synced ? "synced" : nil,
      as_of: synced ? "2026-01-18T20:01:00Z" : nil,
      notes: synced
        ? [
          "STEPS is synced from 2026-01-18T20:00 on. What the phone has from before is missing here."
        ] : nil)
  }

  /// Repeats a request until it is answered, since a busy machine may exceed the client's time limit.
  private static func answered<Answer>(
    _ ask: () async throws -> Answer
  ) async throws -> Answer {
    while true {
      do { return try await ask() } catch LinkFailure.timeout { continue }
    }
  }

  /// Runs `body` with a phone that is paired and has two samples of 40 steps.
  private static func run(_ body: (Run, HealthPull) async throws -> Void) async throws {
    let scratch = try Scratch()
    try scratch.write(Array("ann \(secret) Etc/UTC\n".utf8), to: "secrets")
    let store = MemoryHealthStore()
    _ = try await store.add(
      [1, 2].map { (second: Int64) in
        let time = Timestamp(nanoseconds: (start + second) * 1_000_000_000)
        return HealthSample(
          type: SyncSamples.steps, value: .quantity(40), unit: "count", start: time, end: time,
          source: "Watch")
      })
    try await BackendRig.run {
      $0.syncSecretFile = scratch("secrets")
      $0.assistants.originPolicy.hosts = ["test"]
      ($0.relay.syncedWait, $0.relay.returnWait) = (.seconds(3_600), .milliseconds(1))
    } _: { rig in
      let configuration = RelayConfiguration(
        server: rig.address.url, phone: UUID128(high: 4, low: 0), zone: .utc,
        profile: .service, storage: .store(store))
      let relay = try await Relay(configuration)
      relay.start()
      for await update in relay {
        guard case .pair(let pair) = update else { continue }
        let outcome = try await rig.backend.ask(
          .login(word: pair.word.text, code: pair.code.text))
        guard case .loggedIn(let grant) = outcome else {
          throw BackendRig.NotPaired(outcome: outcome)
        }
        let pull = try HealthPull(configuration, token: try #require(await relay.resumeToken))
        try await body(Run(rig: rig, relay: relay, token: grant.accessToken), pull)
        break
      }
      await relay.close()
    }
  }

  @Test func `a phone that leaves is replaced by its synced samples, with the same number`()
    async throws
  {
    try await Self.run { run, pull in
      try await run.sync()
      let user = try await Self.answered {
        try await pull.readSynced(of: Secret(Self.secret), zone: .utc)
      }
      #expect(user == "ann")
      #expect(try await run.ask() == Self.told(80, synced: false))
      await run.relay.close()
      #expect(try await run.ask() == Self.told(80, synced: true))
      try await run.sync(deleting: [2])
      #expect(try await run.ask() == Self.told(40, synced: true))
      try await run.sync(deleting: [1])
      #expect(try await run.ask().health_data ?? [] == [])
    }
  }

  @Test func `the user forbids it to one assistant, or to all`() async throws {
    try await Self.run { run, pull in
      try await run.sync()
      _ = try await Self.answered { try await pull.readSynced(of: Secret(Self.secret)) }
      let known = try await Self.answered { try await pull.assistants() }
      let id = try #require(known.assistants.first?.id)
      let list = try await Self.answered { try await pull.assistants(.synced(id, allows: false)) }
      #expect(list.assistants.map(\.readsSynced) == [false])
      // The phone is here, so it answers.
      #expect(try await run.ask() == Self.told(80, synced: false))
      _ = try await Self.answered { try await pull.assistants(.synced(id, allows: true)) }
      await run.relay.close()
      #expect(try await run.ask() == Self.told(80, synced: true))
      #expect(try await Self.answered { try await pull.readSynced(of: nil) } == nil)
    }
  }

  @Test func `a wrong secret, a wrong token and a wrong body are refused`() async throws {
    try await Self.run { run, pull in
      await #expect(throws: LinkFailure.self) { try await pull.readSynced(of: Secret("wrong")) }
      let client = try run.rig.client()
      let resume = try #require(await run.relay.resumeToken).text
      for (token, body, status) in [
        ("none", #"{"secret":"\#(Self.secret)"}"#, 401), (resume, #"{"secret":7}"#, 400),
        (resume, #"{"secret":"wrong"}"#, 403), (resume, "{}", 200),
      ] {
        #expect(
          try await client.ask("POST", "/relay/sync", token: token, body: body).status == status)
      }
      #expect(try await client.ask("GET", "/relay/sync", token: resume).status == 405)
    }
  }
}
