import HoldfastAssistants
import HoldfastBackend
import HoldfastHealth
import HoldfastRelayData
import Testing

/// Tests of current assistants, which use the official SDK, with a backend and a phone.
@Suite(
  .enabled(
    if: Assistant.SDK.areInstalled,
    "needs the Python SDK of MCP: run scripts/peers where there is a network"),
  .offThePool, .serialized, .timeLimit(.minutes(60)))
struct AssistantTests {
  private static let span = #""start_time":"2026-03-01T00:00:00","end_time":"2026-03-02T00:00:00""#
  private static let steps = #""value_type":"STEPS","# + span

  /// Runs `body` with a backend and a connected assistant, and then disconnects the assistant
  /// cleanly.
  private func meet(
    _ kind: Assistant.Kind, _ configure: (inout BackendConfiguration) -> Void = { _ in },
    _ body: (BackendRig, Assistant) async throws -> Void
  ) async throws {
    try await BackendRig.run(configure) { rig in
      let (assistant, version) = try await Assistant.connect(kind, to: rig.address.url)
      #expect(version == kind.version)
      try await body(rig, assistant)
      await assistant.leave()
    }
  }

  /// Connects a phone and pairs the assistant with it.
  private func pair(
    _ assistant: Assistant, _ kind: Assistant.Kind, with rig: BackendRig, device: String? = nil
  ) async throws -> ScriptedPhone {
    let phone = try await ScriptedPhone.connect(to: rig, device: device)
    let answer = try await assistant.login(
      word: phone.code.word, code: phone.code.code, storesToken: kind.version == "2026-07-28")
    #expect(answer.structured?.success == true)
    #expect(answer.isError == false)
    return phone
  }

  @Test(arguments: Assistant.Kind.all)
  func `an assistant initializes, lists tools, logs in, asks for each type and logs out`(
    kind: Assistant.Kind
  ) async throws {
    try await meet(kind) { rig, assistant in
      let list = try await assistant.order("list")
      #expect(
        list.tools == [
          "direct_login", "list_health_types", "get_health_metrics", "get_summary", "logout",
        ])
      let early = try await assistant.call("get_health_metrics", Self.steps)
      #expect(early.structured?.error == "not_signed_in")
      let wrong = try await assistant.login(word: "nonsense", code: "000000", storesToken: false)
      #expect(wrong.structured?.error == "invalid_credentials")
      #expect(wrong.isError == true)

      let phone = try await pair(assistant, kind, with: rig)
      for type in HealthValueType.allCases {
        let call = await assistant.beginCall(
          "get_health_metrics", #""value_type":"\#(type.rawValue)","# + Self.span)
        guard case .healthData(let query) = try await phone.answer() else {
          throw ScriptedPhone.Unexpected(what: "another question")
        }
        #expect(query.valueType == type)
        let answer = try await assistant.answer(to: call)
        #expect(
          answer.structured
            == Assistant.Structured(
              success: true, count: 1, value_type: type.rawValue,
              healthData: [Assistant.Structured.Point(type: type.rawValue, value: 42)]),
          "\(answer)")
        #expect(answer.isTold == true, "\(answer)")
      }
      let logout = try await assistant.call("logout")
      #expect([early, wrong, logout].map(\.isTold) == [true, true, true])
      #expect(logout.structured?.success == true)
      let late = try await assistant.call("get_health_metrics", Self.steps)
      #expect(late.structured?.error == "not_signed_in")
    }
  }

  @Test(arguments: Assistant.Kind.all)
  func `a summary is answered, and invalid arguments and unknown tools are refused`(
    kind: Assistant.Kind
  ) async throws {
    try await meet(kind) { rig, assistant in
      let phone = try await pair(assistant, kind, with: rig)
      let call = await assistant.beginCall(
        "get_summary",
        Self.span + #","metrics":[{"value_type":"STEPS"},{"value_type":"SLEEP"}]"#)
      try await phone.answer()
      let answer = try await assistant.answer(to: call)
      #expect(answer.structured?.results?.map(\.value_type) == ["STEPS", "SLEEP"])
      #expect(answer.failed == nil)
      #expect(answer.isTold == true)
      let bad = try await assistant.call("get_summary", #""start_time":"soon""#)
      #expect(bad.structured?.error == "invalid_arguments")
      let unknown = try await assistant.call("nope")
      #expect(unknown.structured?.error == "unknown_tool")
    }
  }

  @Test(arguments: Assistant.Kind.all)
  func `reports at once that the phone is away`(kind: Assistant.Kind) async throws {
    try await meet(kind) { rig, assistant in
      let phone = try await pair(assistant, kind, with: rig)
      await phone.client.leave()
      let answer = try await assistant.call("get_health_metrics", Self.steps)
      #expect(answer.isError == true)
      #expect(["phone_away", "not_signed_in"].contains(answer.structured?.error), "\(answer)")
      #expect(answer.text?.contains("phone") == true)
    }
  }

  @Test(arguments: Assistant.Kind.all)
  func `a phone in the background leases the question and its answer is returned`(
    kind: Assistant.Kind
  ) async throws {
    try await meet(kind) { rig, assistant in
      let phone = try await pair(assistant, kind, with: rig, device: ScriptedPhone.device)
      let resume = try #require(phone.code.resumeToken)
      let pull = try rig.client()
      let address = #"{"kind":"hook","address":"test"}"#
      #expect(
        try await pull.ask("POST", "/relay/push", token: resume, body: address).status == 200)
      await phone.client.leave()
      let call = await assistant.beginCall("get_health_metrics", Self.steps)
      let leased = try await lease(pull, resume)
      let message = ScriptedPhone.answer(leased.id, leased.question)
      let result = LeasedResult(lease: leased.lease, message: message)
      let body = String(decoding: result.bytes, as: UTF8.self)
      #expect(
        try await pull.ask("POST", "/relay/results", token: resume, body: body).status == 200)
      let answer = try await assistant.answer(to: call)
      #expect(answer.structured?.healthData?.first?.value == 42, "\(answer)")
    }
  }

  /// Requests leases until the question is available, since the assistant's call may be in transit.
  private func lease(_ client: BackendClient, _ token: String) async throws -> LeasedQuestion {
    while true {
      let answer = try await client.ask(
        "POST", "/relay/lease", token: token, body: #"{"max":1}"#)
      let questions = try LeasedQuestions.read(Array(answer.body.utf8))
      if let first = questions.questions.first { return first }
    }
  }

  @Test(arguments: Assistant.Kind.all)
  func `two concurrent assistants each receive their own answers`(kind: Assistant.Kind) async throws
  {
    try await meet(kind) { rig, one in
      let (two, _) = try await Assistant.connect(kind, to: rig.address.url)
      let first = try await pair(one, kind, with: rig)
      let second = try await pair(two, kind, with: rig)
      let mine = await one.beginCall("get_health_metrics", #""value_type":"STEPS","# + Self.span)
      let theirs = await two.beginCall(
        "get_health_metrics", #""value_type":"SLEEP","# + Self.span)
      try await second.answer()
      #expect(try await two.answer(to: theirs).structured?.value_type == "SLEEP")
      try await first.answer()
      #expect(try await one.answer(to: mine).structured?.value_type == "STEPS")
      await two.leave()
    }
  }

  @Test func `progress is reported while a phone is slow to answer`() async throws {
    for kind in Assistant.Kind.all {
      try await meet(kind) {
        $0.assistants.progressInterval = .milliseconds(10)
      } _: { rig, assistant in
        let phone = try await pair(assistant, kind, with: rig)
        let call = await assistant.beginCall("get_health_metrics", Self.steps, progress: true)
        let (id, question) = try await phone.question()
        // Each of these calls takes at least one turn of the backend, so progress is reported
        // before the last call returns.
        for _ in 0..<10 { _ = try await assistant.order("list") }
        try await phone.say(ScriptedPhone.answer(id, question))
        let answer = try await assistant.answer(to: call)
        #expect(answer.progress?.first?.message == "Waiting for the phone")
        #expect(answer.structured?.success == true)
      }
    }
  }

  /// Tests only SDK 2, because SDK 1 cannot cancel a call.
  @Test(arguments: Assistant.Kind.all.filter { $0.sdk == .two })
  func `a cancelled call is cancelled on the phone`(
    kind: Assistant.Kind
  ) async throws {
    try await meet(kind) { rig, assistant in
      let phone = try await pair(assistant, kind, with: rig, device: ScriptedPhone.device)
      let call = await assistant.beginCall("get_health_metrics", Self.steps)
      let (id, _) = try await phone.question()
      await assistant.begin("cancel", #""call":\#(call)"#)
      #expect(try await phone.message() == .cancel(id))
      #expect(try await assistant.answer(to: call).cancelled == true)
      let next = await assistant.beginCall("get_health_metrics", Self.steps)
      try await phone.answer()
      #expect(try await assistant.answer(to: next).structured?.success == true)
    }
  }

  @Test(arguments: Assistant.Kind.all)
  func `a killed assistant's call is cancelled on the phone`(kind: Assistant.Kind) async throws {
    try await BackendRig.run { rig in
      let (assistant, _) = try await Assistant.connect(kind, to: rig.address.url)
      let phone = try await pair(assistant, kind, with: rig, device: ScriptedPhone.device)
      _ = await assistant.beginCall("get_health_metrics", Self.steps)
      let (id, _) = try await phone.question()
      await assistant.kill()
      #expect(try await phone.message() == .cancel(id))
    }
  }
}
