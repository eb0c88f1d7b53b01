import HoldfastAssistants
import HoldfastBackend
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastServerParts
import HoldfastTestKit
import Testing

/// Tests of the relay on real sockets, with phones on raw WebSockets and assistants in this
/// process.
@Suite(.timeLimit(.minutes(60))) struct RelayBackendTests {
  @Test func `a phone pairs and answers a question, and the log contains no secret`() async throws {
    try await BackendRig.run { rig in
      let (phone, code, grant) = try await rig.pairedPhone()
      async let outcome = rig.answer(to: grant)
      let (id, question) = try await phone.question()
      #expect(question == BackendRig.question)
      try await phone.say(.summary(id, BackendRig.object("7")))
      #expect(try await outcome == .data(BackendRig.object("7")))
      let wrong = try await rig.backend.ask(.login(word: code.word, code: code.code))
      #expect(wrong == .refused(.wrongPair))
      await rig.backend.drainAndStop()
      let log = rig.lines.all.joined(separator: "\n")
      #expect(log.contains(#""event":"asked","route":"login","outcome":"logged_in""#))
      #expect(log.contains(#""event":"opened""#) && log.contains(#""route":"phone""#))
      for secret in [code.code, code.word, grant.accessToken, code.resumeToken ?? "?"] {
        #expect(!log.contains(secret))
      }
    }
  }

  @Test func `a phone without a device id receives only the three basic fields`() async throws {
    try await BackendRig.run { rig in
      let (phone, code) = try await RelayPhoneClient.open(rig, device: nil)
      #expect(code.resumeToken == nil && code.expiresIn == nil && !code.acceptsParts)
      let grant = try await rig.pair(code)
      async let outcome = rig.answer(to: grant)
      _ = try await phone.question()
      try await phone.client.say(#"{"success":false,"error_message":"cannot"}"#)
      #expect(try await outcome == .data(.failure("cannot")))
    }
  }

  @Test func `a reconnected phone is asked again and its old socket is closed`()
    async throws
  {
    try await BackendRig.run { rig in
      let (first, code, grant) = try await rig.pairedPhone()
      async let outcome = rig.answer(to: grant)
      let (id, _) = try await first.question()
      let (second, again) = try await RelayPhoneClient.open(rig, resume: code.resumeToken)
      #expect(again.resumed && again.resumeToken == nil)
      let close = try await first.client.close().payload
      #expect(close.prefix(2) == [0x11, 0x39])  // 4409
      #expect(try await second.question().0 == id)
      try await second.say(.summary(id, BackendRig.object("again")))
      #expect(try await outcome == .data(BackendRig.object("again")))
    }
  }

  @Test func `a phone and its assistant resume after the backend was killed`()
    async throws
  {
    let scratch = try Scratch()
    var code: ConnectionCode?
    var grant: RelayGrant?
    try await BackendRig.run(in: scratch.path) { rig in
      let (_, shown) = try await RelayPhoneClient.open(rig)
      (code, grant) = (shown, try await rig.pair(shown))
    }
    let token = try #require(code?.resumeToken)
    let bearer = try #require(grant?.accessToken)
    try await BackendRig.run(in: scratch.path) { rig in
      let (phone, again) = try await RelayPhoneClient.open(rig, resume: token)
      #expect(again.resumed)
      async let outcome = rig.backend.ask(.question(BackendRig.question), bearer: bearer)
      let (id, _) = try await phone.question()
      try await phone.say(.summary(id, BackendRig.object("new life")))
      #expect(try await outcome == .data(BackendRig.object("new life")))
      #expect(try await rig.backend.ask(.logout, bearer: bearer) == .loggedOut)
    }
  }

  @Test func `a pending question receives an outcome when the backend is killed`() async throws {
    try await BackendRig.run { rig in
      let (phone, _, grant) = try await rig.pairedPhone()
      async let outcome = rig.answer(to: grant)
      _ = try await phone.question()
      await rig.backend.kill()
      #expect(try await outcome == .refused(.stopping(retryAfter: .seconds(1))))
    }
  }

  @Test func `a phone in the background receives a wake push, leases and posts its result`()
    async throws
  {
    let pushes = FakePushes()
    try await BackendRig.run(pushes: pushes) { rig in
      let (phone, code, grant) = try await rig.pairedPhone()
      let http = try rig.client()
      let registered = try await http.ask(
        "POST", "/relay/push", token: code.resumeToken,
        body: #"{"kind":"hook","address":"bell"}"#)
      #expect(registered.status == 200)
      try await phone.client.answerClose(1000)
      _ = try await phone.client.close()
      async let outcome = rig.answer(to: grant)
      #expect(await pushes.next().address == .hook("bell"))
      let lease = try await http.ask(
        "POST", "/relay/lease", token: code.resumeToken, body: #"{"max":5}"#)
      let leased = try LeasedQuestions.read(Array(lease.body.utf8))
      let first = try #require(leased.questions.first)
      #expect(leased.expiresIn == .seconds(25))
      let text = String(repeating: "x", count: 300_000)
      for part in PhoneMessage.frames(answering: .summary, first.id, BackendRig.object(text)) {
        let result = LeasedResult(lease: first.lease, message: part)
        let posted = try await http.ask(
          "POST", "/relay/results", token: code.resumeToken,
          body: String(decoding: result.bytes, as: UTF8.self))
        #expect(posted.status == 200)
      }
      #expect(try await outcome == .data(BackendRig.object(text)))
    }
  }

  @Test(arguments: [300_000, 3_000_000])
  func `a long answer comes whole or in parts`(length: Int) async throws {
    try await BackendRig.run { rig in
      let (phone, _, grant) = try await rig.pairedPhone()
      let object = BackendRig.object(String(repeating: "x", count: length))
      for isWhole in [true, false] {
        async let outcome = rig.answer(to: grant)
        let (id, _) = try await phone.question()
        if isWhole {
          try await phone.say(.summary(id, object))
        } else {
          for part in PhoneMessage.frames(answering: .summary, id, object) {
            try await phone.say(part)
          }
        }
        #expect(try await outcome == .data(object))
      }
    }
  }

  @Test(
    arguments: [
      ("GET", "/ws/phone", nil, 426), ("POST", "/ws/phone", "", 405),
      ("GET", "/relay/lease", nil, 405), ("POST", "/relay/lease", #"{"max":1}"#, 401),
      ("POST", "/relay/lease", #"{"max":0}"#, 400), ("POST", "/relay/results", "{", 400),
      ("POST", "/relay/push", #"{"kind":"pigeon","address":"x"}"#, 400),
      ("POST", "/relay/push", #"{"kind":"hook","address":"x"}"#, 401),
      ("GET", "/relay/health", nil, 200), ("GET", "/relay/nothing", nil, 404),
    ] as [(String, String, String?, Int)])
  func `each route answers with its status`(
    method: String, path: String, body: String?, status: Int
  ) async throws {
    try await BackendRig.run { rig in
      let answer = try await rig.client().ask(method, path, body: body)
      #expect(answer.status == status)
      if status == 401 { #expect(answer.headers["www-authenticate"] == "Bearer") }
    }
  }

  @Test(arguments: [
    ("", 101), ("Origin: http://localhost:5173\r\n", 101),
    ("Origin: https://app.example\r\n", 101), ("Origin: https://evil.example\r\n", 403),
    ("Origin: null\r\n", 403),
  ])
  func `a web page of a foreign origin cannot connect as a phone`(field: String, status: Int)
    async throws
  {
    try await BackendRig.run({ $0.assistants.originPolicy.origins = ["https://app.example"] }) {
      rig in
      let client = try rig.client()
      #expect(try await client.upgrade("/ws/phone", field).status == status)
      let health = try await rig.client().ask("GET", "/relay/health")
      #expect(health.body.contains(#""phones":\#(status == 101 ? 1 : 0),"#))
    }
  }

  @Test(arguments: [("https://relay.example", 101), ("https://elsewhere.example", 403)])
  func `a phone can connect from the backend's own origin`(
    origin: String, status: Int
  ) async throws {
    try await BackendRig.run({ $0.assistants.originPolicy.hosts = ["relay.example", "test"] }) {
      rig in
      let answer = try await rig.client().upgrade("/ws/phone", "Origin: \(origin)\r\n")
      #expect(answer.status == status)
    }
  }

  @Test(arguments: [(262_144, 400), (262_145, 413)])
  func `a posted result has its own size limit`(length: Int, status: Int) async throws {
    try await BackendRig.run { rig in
      let answer = try await rig.client().speak(
        "POST /relay/results HTTP/1.1\r\nHost: test\r\nContent-Length: \(length)\r\n\r\n"
          + (status == 413 ? "" : String(repeating: " ", count: length)))
      #expect(answer.status == status)
    }
  }

  @Test func `health and metrics count phones`() async throws {
    try await BackendRig.run { rig in
      let (phone, code) = try await RelayPhoneClient.open(rig)
      _ = try await rig.pair(code)
      let health = try await rig.client().ask("GET", "/relay/health")
      #expect(health.body == #"{"status":"ok","phones":1,"questions":0}"#)
      let metrics = try await rig.client().ask("GET", "/metrics")
      #expect(metrics.body.contains("holdfast_relay_phones 1\n"))
      #expect(metrics.body.contains("holdfast_connections 0\n"))
      // The phone's socket must still be open here.
      try await phone.say(.failure(nil, reason: ""))
    }
  }

  @Test func `a drain closes phone sockets with 1001 and ends pending questions`() async throws {
    try await BackendRig.run { rig in
      let (phone, _, grant) = try await rig.pairedPhone()
      async let outcome = rig.answer(to: grant)
      _ = try await phone.question()
      async let stopped: Void = rig.backend.drainAndStop()
      let close = try await phone.client.close().payload
      #expect(close.prefix(2) == [0x03, 0xE9])
      try await phone.client.answerClose(1001)
      await stopped
      #expect(try await outcome == .refused(.stopping(retryAfter: .seconds(5))))
    }
  }

  @Test(arguments: [false, true])
  func `each call during a shutdown receives an outcome`(isKilled: Bool) async throws {
    try await BackendRig.run { rig in
      let (phone, _, grant) = try await rig.pairedPhone()
      let outcomes = try await withThrowingTaskGroup(of: Bool.self) { group in
        for _ in 0..<64 {
          group.addTask {
            do throws(BackendError) {
              let ask = RelayCall.question(BackendRig.question)
              guard case .refused = try await rig.backend.ask(ask, bearer: grant.accessToken)
              else { return false }
              return true
            } catch {
              return error == .notRunning
            }
          }
        }
        if isKilled { await rig.backend.kill() } else { await rig.backend.drainAndStop() }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(outcomes == [Bool](repeating: true, count: 64))
      withExtendedLifetime(phone) {}
    }
  }
}
