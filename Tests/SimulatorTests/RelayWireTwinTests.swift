import LinkCore
import LinkHealth
import LinkWire
import Testing

@testable import LinkSimulator

/// The second account of what relays and their phones write and read.
@Suite struct RelayWireTwinTests {
  private func id() throws -> RelayRequestID { try #require(RelayRequestID("q")) }

  private static let code =
    #"{"type":"connection_code","code":"123456","word":"tiger","message":"m","expires_in":60}"#

  @Test func `the account writes and reads a connection code`() throws {
    let message = BackendMessage.connectionCode(
      ConnectionCode(code: "123456", word: "tiger", message: "m", expiresIn: .seconds(60)))
    #expect(RelayWireScribe.tree(message).json == Self.code)
    #expect(try RelayWireReading.backend(Array(Self.code.utf8)) == message)
  }

  @Test(arguments: [
    (#""code":"123456""#, #""code":1"#, "code is of another type"),
    (#""code":"123456""#, #""code":"""#, "code is missing"),
    (#""expires_in":60"#, #""expires_in":-1"#, "expires_in is out of bounds"),
    (#""type":"connection_code""#, #""type":"cancel_request""#, "request_id is missing"),
  ])
  func `the account names what is wrong with a message`(
    good: String, bad: String, words: String
  ) {
    let bytes = Array(Self.code.replacing(good, with: bad).utf8)
    let error = #expect(throws: RelayWireError.self) { try RelayWireReading.backend(bytes) }
    #expect(error?.description == words)
  }

  @Test func `the account reads an answer, a piece of one, and a failure`() throws {
    let object = #"{"success":true}"#
    let answer = #"{"type":"summary_response","id":"q","summary_data":\#(object)}"#
    #expect(
      try RelayWireReading.phone(Array(answer.utf8), upTo: 100)
        == .summary(id(), HealthObject(succeeded: true, bytes: Array(object.utf8))))
    let part = HealthPart(kind: .healthData, index: 1, count: 2, text: "x")
    let piece =
      #"{"type":"answer_part","id":"q","kind":"health_data","index":1,"count":2,"text":"x"}"#
    #expect(try RelayWireReading.phone(Array(piece.utf8), upTo: 100) == .part(id(), part))
    let failure = #"{"success":false,"error_message":"no"}"#
    #expect(
      try RelayWireReading.phone(Array(failure.utf8), upTo: 100) == .failure(nil, reason: "no"))
  }

  @Test func `the account cuts an answer where its frames are full`() {
    let bytes = Array(String(repeating: "a", count: 440).utf8)
    #expect(RelayWireScribe.pieces(bytes, 0).map(\.utf8.count) == [437, 3])
    #expect(RelayWireScribe.pieces(Array("a\"".utf8), 0) == ["a\""])
  }

  @Test func `the account tells what can be a push address`() {
    #expect(RelayWireReading.isToken("0aF9"))
    #expect(!RelayWireReading.isToken("0aF"))
    #expect(!RelayWireReading.isToken("0g"))
    #expect(RelayWireReading.isTopic("com.example-1"))
    #expect(!RelayWireReading.isTopic("a_b"))
  }

  @Test func `the account keeps phones in their order, and forgets questions with theirs`() throws {
    let token = try #require(TokenHash([UInt8](repeating: 1, count: 32)))
    func phone(_ low: UInt64) -> KeptPhone {
      let device = UUID128(high: 0, low: 9)
      return KeptPhone(id: PhoneID(UUID128(high: 0, low: low)), device: device, resume: token)
    }
    let time = Timestamp(nanoseconds: 0)
    let query = SummaryQuery(
      start: .instant(time, minutesEast: nil), end: .instant(time, minutesEast: nil))
    let question = KeptQuestion(
      id: try id(), phone: phone(1).id, asker: token, question: .summary(query), deadline: time)
    var kept = RelayKept()
    for change in [RelayChange.phone(phone(2)), .phone(phone(1)), .question(question)] {
      RelayKeptWalk.apply(change, to: &kept)
    }
    #expect(kept == RelayKept(phones: [phone(1), phone(2)], questions: [question]))
    RelayKeptWalk.apply(.endPhone(phone(1).id), to: &kept)
    #expect(kept == RelayKept(phones: [phone(2)]))
  }

  @Test func `walks return the first difference that they find`() {
    var wire = RelayWireWalk(Chance(seed: 1))
    #expect(wire.walk(10) == nil)
    wire.compare("a message", 1, 2)
    wire.compare("a body", 3, 4)
    #expect(wire.walk(10) == "a message is 1, and must be 2")
    var kept = RelayKeptWalk(Chance(seed: 1))
    #expect(kept.walk(10) == nil)
    kept.compare("a name", "a", "b")
    #expect(kept.walk(10) == "a name is a, and must be b")
  }
}
