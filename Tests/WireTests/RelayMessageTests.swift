import HoldfastCore
import HoldfastHealth
import HoldfastJSON
import HoldfastRelayData
import HoldfastTestKit
import Testing

private func fails(_ text: String) -> RelayWireError? {
  do throws(RelayWireError) {
    _ = try BackendMessage.read(Array(text: text))
    return nil
  } catch {
    return error
  }
}

private func phoneFails(_ text: String) -> RelayWireError? {
  do throws(RelayWireError) {
    _ = try PhoneMessage.read(Array(text: text))
    return nil
  } catch {
    return error
  }
}

@Suite struct RelayMessageTests {
  private static let span =
    #""start_time":"2026-01-03T15:30:00","end_time":"2026-01-03T15:30:00Z""#

  @Test(arguments: ["request_id", "requestId", "id"])
  func `the id of a request is read under each of its names`(name: String) throws {
    let text =
      #"{"payload":{"value_type":"steps",\#(Self.span),"group_by":null,"statistic":""},"#
      + #""\#(name)":"7","type":"health_data_request","more":[1]}"#
    let query = HealthDataQuery(
      valueType: .steps, start: RelaySample.local, end: RelaySample.utc)
    #expect(
      try BackendMessage.read(Array(text: text))
        == .question(RelaySample.requestID("7"), .healthData(query)))
  }

  @Test func `the first of several id members counts`() throws {
    let text = #"{"id":"c","type":"cancel_request","requestId":"b","request_id":"a"}"#
    #expect(try BackendMessage.read(Array(text: text)) == .cancel(RelaySample.requestID("a")))
    let empty = #"{"id":"c","type":"cancel_request","requestId":null,"request_id":""}"#
    #expect(try BackendMessage.read(Array(text: empty)) == .cancel(RelaySample.requestID("c")))
  }

  private static let faults: [(String, FieldFault)] = [
    (#"{"value_type":"STEPS"}"#, .missing(field: "start_time")),
    (#"{\#(span)}"#, .missing(field: "value_type")),
    (#"{"value_type":7,\#(span)}"#, .wrongType(field: "value_type")),
    (
      #"{"value_type":"a mood?",\#(span)}"#,
      .unknownValue(field: "value_type", known: HealthValueType.allCases.map(\.rawValue))
    ),
    (
      #"{"value_type":"STEPS",\#(span),"group_by":"DECADE"}"#,
      .unknownValue(field: "group_by", known: HealthGrouping.allCases.map(\.rawValue))
    ),
    (
      #"{"value_type":"STEPS","start_time":"soon","end_time":"2026-01-01"}"#,
      .badDate(field: "start_time")
    ),
    ("[]", .wrongType(field: "payload")), ("null", .missing(field: "payload")),
  ]

  @Test(arguments: faults)
  func `an error contains the id of its request, wherever the id is`(
    payload: String, fault: FieldFault
  ) {
    let error = RelayWireError(fault, id: RelaySample.id, kind: .healthData)
    let id = #""request_id":"0b7e-1""#
    #expect(fails(#"{"type":"health_data_request",\#(id),"payload":\#(payload)}"#) == error)
    #expect(fails(#"{"payload":\#(payload),\#(id),"type":"health_data_request"}"#) == error)
    // The refusal is an answer that the backend can then pass to the caller.
    #expect(
      PhoneMessage.refusing(error) == .healthData(RelaySample.id, .failure(error.description)))
  }

  @Test func `a syntax error keeps an id that precedes it`() {
    let text = #"{"request_id":"0b7e-1","type":"summary_request","payload":{"a":}}"#
    let fault = FieldFault.malformed(detail: "no value at byte 63")
    #expect(fails(text) == RelayWireError(fault, id: RelaySample.id, kind: .summary))
    #expect(
      PhoneMessage.refusing(RelayWireError(fault, id: RelaySample.id))
        == .failure(RelaySample.id, reason: "no value at byte 63"))
    #expect(
      PhoneMessage.refusing(RelayWireError(fault)) == .failure(nil, reason: "no value at byte 63"))
  }

  @Test func `limits are enforced at, below and above`() throws {
    let longest = String(repeating: "i", count: 64)
    #expect(RelayRequestID("") == nil)
    #expect(RelayRequestID("i")?.text == "i")
    #expect(RelayRequestID(longest)?.text == longest)
    #expect(RelayRequestID(longest + "i") == nil)
    #expect(
      fails(#"{"type":"cancel_request","id":"\#(longest)i"}"#)
        == RelayWireError(.outOfBounds(field: "id")))
    let cancel = #"{"type":"cancel_request","id":"a"}"#
    let filler = String(repeating: " ", count: BackendMessage.maxBytes - cancel.utf8.count)
    #expect(fails(cancel + filler) == nil)
    #expect(
      fails(cancel + filler + " ") == RelayWireError(.tooLong(bytes: BackendMessage.maxBytes + 1)))
  }

  @Test func `a message of a phone has up to 8 MiB`() {
    let pong = #"{"type":"pong"}"#
    func message(_ count: Int) -> String {
      pong + String(repeating: " ", count: count - pong.utf8.count)
    }
    #expect(PhoneMessage.maxBytes == 8_388_608)
    #expect(phoneFails(message(8_388_608)) == nil)
    #expect(phoneFails(message(8_388_609)) == RelayWireError(.tooLong(bytes: 8_388_609)))
  }

  @Test func `a code expires within a year`() {
    func code(_ seconds: Int) -> String {
      #"{"type":"connection_code","code":"1","word":"w","expires_in":\#(seconds)}"#
    }
    for seconds in [0, 31_536_000] { #expect(fails(code(seconds)) == nil) }
    for seconds in [-1, 31_536_001] {
      #expect(fails(code(seconds)) == RelayWireError(.outOfBounds(field: "expires_in")))
    }
  }

  @Test(arguments: [("code", "word"), ("word", "code")])
  func `a code and its word have up to 64 bytes`(name: String, other: String) {
    func text(_ count: Int) -> String {
      let value = String(repeating: "x", count: count)
      return #"{"type":"connection_code","\#(other)":"y","\#(name)":"\#(value)"}"#
    }
    #expect(fails(text(64)) == nil)
    #expect(fails(text(65)) == RelayWireError(.outOfBounds(field: name)))
  }

  @Test(arguments: [-1, 0, 1])
  func `a code names up to maxCount new assistants`(beyond: Int) {
    let one = #"{"id":"1","expires_at":"2026-01-03T15:30:00Z"}"#
    let list = Array(repeating: one, count: PairedAssistants.maxCount + beyond)
    let text =
      #"{"type":"connection_code","code":"1","word":"w","new_assistants":["#
      + list.joined(separator: ",") + "]}"
    let fault = RelayWireError(.outOfBounds(field: "new_assistants"))
    #expect(fails(text) == (beyond > 0 ? fault : nil))
    let wrong = #"{"type":"connection_code","code":"1","word":"w","new_assistants":[{}]}"#
    #expect(fails(wrong) == RelayWireError(.missing(field: "id")))
  }

  @Test func `a resume token has up to 512 bytes`() {
    func text(_ count: Int) -> String {
      let token = String(repeating: "x", count: count)
      return #"{"type":"connection_code","code":"1","word":"w","resume_token":"\#(token)"}"#
    }
    #expect(fails(text(512)) == nil)
    #expect(fails(text(513)) == RelayWireError(.outOfBounds(field: "resume_token")))
  }

  @Test func `a summary has up to 64 metrics`() throws {
    func text(_ count: Int) -> String {
      let metrics = Array(repeating: #"{"value_type":"STEPS"}"#, count: count)
      return #"{"type":"summary_request","id":"a","payload":{\#(Self.span),"metrics":"#
        + "[\(metrics.joined(separator: ","))]}}"
    }
    #expect(fails(text(63)) == nil)
    #expect(fails(text(64)) == nil)
    #expect(
      fails(text(65))
        == RelayWireError(
          .outOfBounds(field: "metrics"), id: RelaySample.requestID("a"), kind: .summary))
  }

  @Test func `the error messages of a plain phone are read`() throws {
    let plain = #"{"success":false,"error_message":"boom"}"#
    #expect(try PhoneMessage.read(Array(text: plain)) == .failure(nil, reason: "boom"))
    #expect(
      try PhoneMessage.read(Array(text: #"{"success":false}"#)) == .failure(nil, reason: ""))
    #expect(phoneFails(#"{"success":true}"#) == RelayWireError(.missing(field: "type")))
    let long = String(repeating: "é", count: 1_001)
    #expect(
      try PhoneMessage.read(Array(text: #"{"error_message":"\#(long)"}"#))
        == .failure(nil, reason: String(long.dropLast())))
  }

  @Test func `an answer without success is refused with its id`() {
    #expect(
      phoneFails(#"{"type":"health_data_response","id":"0b7e-1","health_data":{"count":1}}"#)
        == RelayWireError(.missing(field: "success"), id: RelaySample.id, kind: .healthData))
    #expect(
      phoneFails(#"{"type":"summary_response","summary_data":{"success":true}}"#)
        == RelayWireError(.missing(field: "id"), kind: .summary))
  }

  @Test func `the description of a connection code contains none of its secrets`() {
    let text = "\(RelaySample.code)"
    for secret in ["042137", "otter", "r-1"] { #expect(!text.contains(secret)) }
  }
}
