import HoldfastCore
import HoldfastHealth
import HoldfastJSON
import HoldfastRelayData
import HoldfastTestKit
import Testing

@Suite struct RelayPullTests {
  @Test func `a result has the id of its question under both names`() {
    #expect(
      LeasedResult(lease: "l", message: .healthData(RelaySample.id, .failure("x"))).bytes.text
        == #"{"request_id":"0b7e-1","lease":"l","type":"health_data_response","id":"0b7e-1","#
        + #""health_data":{"success":false,"error_message":"x"}}"#)
  }

  @Test(arguments: [(0, nil), (1, 1), (100, 100), (101, nil)])
  func `an order requests 1 to 100 questions`(max: Int, expected: Int?) {
    let order = try? LeaseRequest.read(Array(text: #"{"max":\#(max)}"#))
    #expect(order?.max == expected)
  }

  @Test func `an order without a number requests one question`() throws {
    #expect(try LeaseRequest.read(Array(text: "{}")) == LeaseRequest(max: 1))
  }

  @Test func `an unreadable question does not affect the others`() throws {
    let payload = RelaySample.query.payload.text
    let text =
      #"{"requests":[{"request_id":"a","type":"health_data_request","payload":{},"lease":"1"},"#
      + #"{"request_id":"b","type":"mood_request","lease":"2"},"#
      + #"{"request_id":"c","type":"health_data_request","payload":\#(payload),"lease":"3"}],"#
      + #""lease_expires_in":25}"#
    let a = RelaySample.requestID("a")
    let b = RelaySample.requestID("b")
    let known = ["health_data_request", "summary_request", "health_types_request"]
    #expect(
      try LeasedQuestions.read(Array(text: text))
        == LeasedQuestions(
          questions: [
            LeasedQuestion(
              id: RelaySample.requestID("c"), question: .healthData(RelaySample.query), lease: "3")
          ], expiresIn: .seconds(25),
          rejected: [
            .init(
              lease: "1",
              error: RelayWireError(.missing(field: "value_type"), id: a, kind: .healthData)),
            .init(
              lease: "2", error: RelayWireError(.unknownValue(field: "type", known: known), id: b)),
          ]))
  }

  @Test func `a result without a lease is refused with its id`() {
    let text = #"{"request_id":"0b7e-1","success":false,"error_message":"x"}"#
    #expect(throws: RelayWireError(.missing(field: "lease"), id: RelaySample.id)) {
      try LeasedResult.read(Array(text: text))
    }
  }
}
