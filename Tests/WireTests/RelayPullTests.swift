import HoldfastTestKit
import LinkCore
import LinkHealth
import LinkJSON
import LinkWire
import Testing

@Suite struct RelayPullTests {
  @Test func `reads the bodies that it writes`() throws {
    #expect(try LeaseOrder.read(LeaseOrder(max: 7).bytes) == LeaseOrder(max: 7))
    #expect(try LeasedQuestions.read(RelaySample.pull.bytes) == RelaySample.pull)
    for message in RelaySample.phone where message.id != nil {
      let result = LeasedResult(lease: "l1", message: message)
      #expect(try LeasedResult.read(result.bytes) == result)
    }
  }

  @Test func `writes the members of the contract`() {
    #expect(
      LeasedQuestions(
        questions: [
          LeasedQuestion(id: RelaySample.id, question: .summary(RelaySample.summary), lease: "l")
        ],
        expiresIn: .seconds(25)
      ).bytes.text
        == #"{"requests":[{"request_id":"0b7e-1","type":"summary_request","payload":"#
        + RelaySample.summary.payload.text + #","lease":"l"}],"lease_expires_in":25}"#)
    #expect(
      LeasedResult(lease: "l", message: .healthData(RelaySample.id, .failure("x"))).bytes.text
        == #"{"request_id":"0b7e-1","lease":"l","type":"health_data_response","id":"0b7e-1","#
        + #""health_data":{"success":false,"error_message":"x"}}"#)
  }

  @Test(arguments: [(0, nil), (1, 1), (100, 100), (101, nil)])
  func `an order is for 1 to 100 questions`(max: Int, expected: Int?) {
    let order = try? LeaseOrder.read(Array(text: #"{"max":\#(max)}"#))
    #expect(order?.max == expected)
  }

  @Test func `an order without a number is for one`() throws {
    #expect(try LeaseOrder.read(Array(text: "{}")) == LeaseOrder(max: 1))
  }

  @Test func `a question that cannot be read spoils no other`() throws {
    let payload = RelaySample.query.payload.text
    let text =
      #"{"requests":[{"request_id":"a","type":"health_data_request","payload":{},"lease":"1"},"#
      + #"{"request_id":"b","type":"mood_request","lease":"2"},"#
      + #"{"request_id":"c","type":"health_data_request","payload":\#(payload),"lease":"3"}],"#
      + #""lease_expires_in":25}"#
    let a = RelaySample.requestID("a")
    let b = RelaySample.requestID("b")
    let known = ["health_data_request", "summary_request"]
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
              lease: "2", error: RelayWireError(.unknownWord(field: "type", known: known), id: b)),
          ]))
  }

  @Test func `a result without a lease is refused with its id`() {
    let text = #"{"request_id":"0b7e-1","success":false,"error_message":"x"}"#
    #expect(throws: RelayWireError(.missing(field: "lease"), id: RelaySample.id)) {
      try LeasedResult.read(Array(text: text))
    }
  }

  @Test func `no damage makes it crash`() {
    var chance = Chance(seed: 13)
    let seeds = [
      RelaySample.pull.bytes, LeaseOrder(max: 3).bytes,
      LeasedResult(lease: "l", message: RelaySample.phone[0]).bytes,
    ]
    for _ in 0..<20_000 {
      let bytes = chance.damaged(seeds.randomElement(using: &chance) ?? [])
      if let order = try? LeaseOrder.read(bytes) { #expect(1...100 ~= order.max) }
      if var leased = try? LeasedQuestions.read(bytes) {
        leased.rejected = []
        #expect((try? LeasedQuestions.read(leased.bytes)) == leased)
      }
      if let result = try? LeasedResult.read(bytes) {
        #expect((try? LeasedResult.read(result.bytes)) == result)
      }
    }
  }
}
