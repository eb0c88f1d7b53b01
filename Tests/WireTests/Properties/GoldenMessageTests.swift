import HoldfastCore
import HoldfastTestKit
import Testing

@testable import HoldfastRelayData
@testable import HoldfastSessionData

/// Tests that compare each message with its exact text. The texts were written according to the
/// contracts.
@Suite struct GoldenMessageTests {
  private static let conversation = #""session_id":"\#(SessionSample.conversation)""#
  private static let time = #""timestamp":"2026-01-03T15:30:00Z""#

  /// The texts of the messages in `SessionSample.client`.
  private static let client: [String] = [
    #"{"type":"connect","session_id":"s","api_key":"untethered-0","protocol_version":"0.5.0"}"#,
    #"{"type":"connect","session_id":"s","challenge_response":"ab",\#(time),"#
      + #""recent_sessions_limit":5,"features":["idempotency","subscribe_batch"],"received":12}"#,
    #"{"type":"ping"}"#, #"{"type":"message_ack","message_id":"m-1"}"#,
    #"{"type":"prompt","text":"","new_session_id":"\#(SessionSample.conversation)"}"#,
    #"{"type":"prompt","text":"two\nlines","#
      + #""resume_session_id":"\#(SessionSample.conversation)","idempotency_key":"k","number":3,"#
      + #""working_directory":"/src","provider":"claude","system_prompt":"be brief"}"#,
    #"{"type":"subscribe",\#(conversation),"last_seq":4}"#,
    #"{"type":"subscribe",\#(conversation),"from_offset":0,"file_signature_seen":"12:a-1"}"#,
    #"{"type":"subscribe_batch","sessions":[]}"#,
    #"{"type":"subscribe_batch","sessions":[{\#(conversation),"last_seq":0},"#
      + #"{"session_id":"other","from_offset":2}]}"#,
    #"{"type":"unsubscribe",\#(conversation)}"#,
    #"{"type":"set_max_message_size","size_kb":200}"#, #"{"type":"kill_session",\#(conversation)}"#,
    #"{"type":"disconnect","reason":"background"}"#, #"{"type":"refresh_sessions"}"#,
  ]

  private static let entry =
    #""role":"assistant","text":"Hé \"you\"\n",\#(conversation),\#(time)}"#
  private static let window =
    #"\#(conversation),"first_seq":7,"last_seq":7,"next_seq":8,"is_complete":false,"#
    + #""messages":[{"uuid":"a-1","seq":7,\#(entry)]"#
  private static let file =
    #"\#(conversation),"next_offset":8,"end_of_file":true,"file_signature":"12:a-1","#
    + #""file_replaced":true,"messages":[{"uuid":"a-1","offset":7,\#(entry)]"#

  /// The texts of the messages in `SessionSample.server`.
  private static let server: [String] = [
    #"{"type":"hello","message":"hi"}"#,
    #"{"type":"hello","message":"hi","version":"0.5.0","auth_version":1,"instructions":"connect","#
      + #""challenge":"00ff",\#(time),"features":["idempotency","resume","subscribe_batch","#
      + #""response_parts","heartbeat","draining","bound_proof"]}"#,
    #"{"type":"connected","message":"","session_id":"s","negotiated_protocol_version":"0.4.0"}"#,
    #"{"type":"connected","message":"in","session_id":"s","negotiated_protocol_version":"0.5.0","#
      + #""features":["resume"],"received":3,"recovered":false}"#,
    #"{"type":"pong"}"#, #"{"type":"ack","message":"taken"}"#,
    #"{"type":"ack","message":"","idempotency_key":"k"}"#,
    #"{"type":"response","success":true,"text":""}"#,
    #"{"type":"response","message_id":"m-1","number":4,"success":false,"error":"interrupted","#
      + #"\#(conversation),"idempotency_key":"k"}"#,
    #"{"type":"response_part",\#(conversation),"idempotency_key":"k","index":0,"text":"He"}"#,
    #"{"type":"error","message":"no"}"#,
    #"{"type":"error","message":"too old","code":"unsupported_protocol_version","#
      + #""required":"0.4.0","received":"0.3.0"}"#,
    #"{"type":"error","message":"busy","code":"busy",\#(conversation),"idempotency_key":"k"}"#,
    #"{"type":"auth_error","message":"Authentication failed"}"#,
    #"{"type":"replay","message_id":"a-1","number":9,"message":{"role":"user","text":"","#
      + #""session_id":"c"}}"#,
    #"{"type":"turn_complete",\#(conversation),"aborted":true}"#,
    #"{"type":"turn_complete",\#(conversation)}"#, #"{"type":"session_history",\#(window)}"#,
    #"{"type":"session_history",\#(conversation),"next_seq":1,"is_complete":true,"messages":[],"#
      + #""gap":{"requested_last_seq":9,"min_available_seq":3,"reason":"client_ahead"}}"#,
    #"{"type":"session_history",\#(file)}"#, #"{"type":"session_history_batch","histories":[]}"#,
    #"{"type":"session_history_batch","histories":[{\#(window)},{\#(file)}]}"#,
    #"{"type":"heartbeat",\#(time)}"#, #"{"type":"heartbeat"}"#,
    #"{"type":"draining","message":"restart","retry_after_ms":5000}"#,
    #"{"type":"draining","message":"","retry_after_ms":0,"window_ms":1500}"#,
    #"{"type":"session_killed",\#(conversation)}"#, #"{"type":"available_commands"}"#,
  ]

  private static let question =
    #"{"value_type":"HEART_RATE","start_time":"2026-01-03T15:30:00","#
    + #""end_time":"2026-01-03T15:30:00Z","group_by":"WEEK","statistic":"AVERAGE"}"#
  private static let summary =
    #"{"start_time":"2026-01-03T15:30:00","end_time":"2026-01-03T12:00:00-03:30","metrics":["#
    + #"{"value_type":"STEPS"},{"value_type":"SLEEP","group_by":"MONTH","statistic":"SUM"}]}"#
  private static let plainSummary =
    #"{"start_time":"2026-01-03T15:30:00Z","end_time":"2026-01-03T15:30:00Z"}"#
  private static let id = #""id":"0b7e-1""#

  /// The texts of the messages in `RelaySample.backend`.
  private static let backend: [String] = [
    #"{"type":"connection_code","code":"042137","word":"otter","message":"Tell it \"both\"","#
      + #""expires_in":600,"resume_token":"r-1","resumed":true,"accepts_parts":true,"#
      + #""new_assistants":[{"id":"3f9a0c41d2e7","name":"Pad","version":"1.2","#
      + #""since":"2026-01-03T15:30:00Z","expires_at":"2026-01-03T15:30:00Z"}]}"#,
    #"{"type":"connection_code","code":"1","word":"w","message":""}"#,
    #"{"type":"health_data_request","request_id":"0b7e-1","payload":\#(question)}"#,
    #"{"type":"summary_request","request_id":"0b7e-1","payload":\#(summary)}"#,
    #"{"type":"summary_request","request_id":"0b7e-1","payload":\#(plainSummary)}"#,
    #"{"type":"health_types_request","request_id":"0b7e-1","payload":{}}"#,
    #"{"type":"cancel_request","request_id":"0b7e-1"}"#, #"{"type":"news"}"#,
    #"{"type":"news","request_id":"0b7e-1"}"#,
  ]

  /// The texts of the messages in `RelaySample.phone`.
  private static let phone: [String] = [
    #"{"type":"health_data_response",\#(id),"health_data":{"success":true,"count":0,"x":["é"]}}"#,
    #"{"type":"summary_response",\#(id),"summary_data":{"success":false,"#
      + #""error_message":"no \"summary\""}}"#,
    #"{"type":"health_types_response",\#(id),"health_types":{"success":true,"types":[]}}"#,
    #"{"type":"answer_part",\#(id),"kind":"summary_data","index":1,"count":3,"#
      + #""text":"{\"é\":1"}"#,
    #"{\#(id),"success":false,"error_message":"why"}"#, #"{"success":false,"error_message":""}"#,
    #"{"type":"news",\#(id)}"#,
  ]

  @Test func `writes and reads the exact text of each message of a session`() throws {
    try #require(SessionSample.client.count == Self.client.count)
    for (message, text) in zip(SessionSample.client, Self.client) {
      #expect(message.bytes.text == text)
      #expect(try SessionClientMessage.read(Array(text: text)) == message)
    }
    try #require(SessionSample.server.count == Self.server.count)
    for (message, text) in zip(SessionSample.server, Self.server) {
      #expect(message.bytes.text == text)
      #expect(try SessionServerMessage.read(Array(text: text)) == message)
    }
  }

  @Test func `writes and reads the exact text of each message of the relay`() throws {
    try #require(RelaySample.backend.count == Self.backend.count)
    for (message, text) in zip(RelaySample.backend, Self.backend) {
      #expect(message.bytes.text == text)
      #expect(try BackendMessage.read(Array(text: text)) == message)
    }
    try #require(RelaySample.phone.count == Self.phone.count)
    for (message, text) in zip(RelaySample.phone, Self.phone) {
      #expect(message.bytes.text == text)
      #expect(try PhoneMessage.read(Array(text: text)) == message)
    }
  }

  @Test func `writes and reads the exact text of each body of the relay`() throws {
    let leased =
      #"{"requests":[{"request_id":"0b7e-1","type":"health_data_request","#
      + #""payload":\#(Self.question),"lease":"l1"},"#
      + #"{"request_id":"2","type":"summary_request","payload":\#(Self.summary),"#
      + #""lease":"l2"}],"lease_expires_in":25}"#
    #expect(RelaySample.pull.bytes.text == leased)
    #expect(try LeasedQuestions.read(Array(text: leased)) == RelaySample.pull)
    #expect(LeaseRequest(max: 7).bytes.text == #"{"max":7}"#)
    let orders: [(AssistantsOrder, String)] = [
      (.list, "{}"), (.end("a"), #"{"end":"a"}"#), (.endAll, #"{"end":"all"}"#),
      (.synced("a", allows: false), #"{"id":"a","synced":false}"#),
    ]
    for (order, text) in orders {
      #expect(order.bytes.text == text)
      #expect(try AssistantsOrder.read(Array(text: text)) == order)
    }
    let choices: [(SyncedOrder, String)] = [
      (.stop, #"{"secret":null}"#), (.read(secret: "s", zone: nil), #"{"secret":"s"}"#),
      (.read(secret: "s", zone: "UTC"), #"{"secret":"s","time_zone":"UTC"}"#),
    ]
    for (order, text) in choices {
      #expect(order.bytes.text == text)
      #expect(try SyncedOrder.read(Array(text: text)) == order)
    }
    let plain = PairedAssistants.Assistant(
      id: "a", name: nil, since: nil, lastQuestion: nil, expiresAt: Sample.time)
    var named = plain
    (named.id, named.name) = ("b", AssistantName("claude-ai", version: "1.4.2"))
    (named.since, named.lastQuestion) = (Sample.time, Sample.time)
    let time = "\"2026-01-03T15:30:00Z\""
    let paired =
      #"{"success":true,"limit":8,"assistants":[{"id":"a","expires_at":\#(time)},"#
      + #"{"id":"b","name":"claude-ai","version":"1.4.2","since":\#(time),"#
      + #""last_question":\#(time),"expires_at":\#(time)}]}"#
    let list = PairedAssistants(limit: 8, assistants: [plain, named])
    #expect(list.bytes.text == paired)
    #expect(try PairedAssistants.read(Array(text: paired)) == list)
  }

  private static let declarations: [(name: String, path: String, used: Set<String>)] = [
    (
      "SessionClientMessage", "Session/Data/Wire/SessionClientMessage.swift",
      EnumCases.used(by: SessionSample.client)
    ),
    (
      "SessionServerMessage", "Session/Data/Wire/SessionServerMessage.swift",
      EnumCases.used(by: SessionSample.server)
    ),
    (
      "BackendMessage", "Health/Relay/Data/Wire/BackendMessage.swift",
      EnumCases.used(by: RelaySample.backend)
    ),
    (
      "PhoneMessage", "Health/Relay/Data/Wire/PhoneCodec.swift",
      EnumCases.used(by: RelaySample.phone)
    ),
    (
      "BottleCommand", "Bottle/Data/Wire/BottleCommand.swift",
      EnumCases.used(by: BottleFormatTests.commands.map(\.0))
    ),
    (
      "RadioFrame", "Bottle/Data/Radio/RadioFrame.swift",
      EnumCases.used(by: RadioFrameTests.frames.map(\.0))
    ),
    (
      "PageQuery", "Messages/Data/Wire/Paging.swift",
      EnumCases.used(by: PageQueryTests.queries.map(\.0))
    ),
    (
      "ShopRoute", "Messages/Data/Wire/ShopRoute.swift",
      EnumCases.used(by: ShopRouteTests.routes.map(\.0))
    ),
  ]

  @Test(arguments: declarations)
  func `the table of an enumeration has every case`(
    name: String, path: String, used: Set<String>
  ) throws {
    let declared = try EnumCases.declared(name, in: path)
    #expect(declared.count > 2)
    #expect(used == declared)
  }
}
