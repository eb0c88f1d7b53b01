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

  @Test func `bytes that are read otherwise are found`() throws {
    let none = Array("{}".utf8)
    let error = try #require(throws: RelayWireError.self) {
      try RelayWireReading.backend(Array("[".utf8))
    }
    try RelayWireWalk.expect(each: [
      ("{}, read from a backend,", { $0.compareBackend(.failure(error), of: none) }),
      ("{}, read from a phone,", { $0.comparePhone(.failure(error), of: none, 100) }),
      ("{}, read as leased questions,", { $0.compareLeased(.failure(error), of: none) }),
      ("{}, read as a result,", { $0.compareResult(.failure(error), of: none, 100) }),
      ("{}, read as an order,", { $0.compareOrder(.failure(error), of: none) }),
      ("{}, read as an order of assistants,", { $0.compareEnding(.failure(error), of: none) }),
      ("{}, read as a list of assistants,", { $0.comparePaired(.failure(error), of: none) }),
      ("{}, read as an address,", { $0.comparePush(.success([]), of: none) }),
      ("the address 0aF9 of nothing", { $0.compareToken(nil, of: "0aF9", nil) }),
    ])
  }

  @Test func `a message that is read as another one is found`() throws {
    let code = ConnectionCode(
      code: "123456", word: "tiger", message: "m", expiresIn: .seconds(60))
    let bytes = Array(Self.code.utf8)
    var other = code
    other.word = "lion"
    let found = other
    try RelayWireWalk.expect(each: [
      (nil, { $0.compareBackend(.success(.connectionCode(code)), of: bytes) }),
      (
        "\(Self.code), read from a backend,",
        { $0.compareBackend(.success(.connectionCode(found)), of: bytes) }
      ),
    ])
  }

  @Test func `what a relay keeps or names otherwise is found`() throws {
    let token = [UInt8](repeating: 1, count: 32)
    let hash = try #require(TokenHash(token))
    let phone = KeptPhone(
      id: PhoneID(UUID128(high: 0, low: 2)), device: UUID128(high: 0, low: 9), resume: hash)
    let change = RelayChange.endPhone(PhoneID(UUID128(high: 0, low: 1)))
    let stray = try RelayKeptWalk.finding { walk in
      var (kept, must) = (RelayKept(phones: [phone]), RelayKept(phones: [phone]))
      walk.compareKept(&kept, &must, after: change)
      #expect(walk.stray == nil)
      must.phones = []
      walk.compareKept(&kept, &must, after: change)
    }
    #expect(stray?.hasPrefix("what is kept after \(change) is ") == true)
    let (name, words) = (AssistantName("a", version: "1"), ["a", "1"])
    let given = words.map { Array($0.unicodeScalars) }
    try RelayKeptWalk.expect(each: [
      (nil, { $0.compareName(name, "a", "1", of: words) }),
      ("a name from \(given)", { $0.compareName(name, "b", "1", of: words) }),
      ("a version from \(given)", { $0.compareName(name, "a", nil, of: words) }),
      (nil, { $0.compareID("q", of: "q") }),
      ("the id q", { $0.compareID(nil, of: "q") }),
      (nil, { $0.compareHash(token, name: "010101010101", of: token) }),
      ("a hash of 32 bytes", { $0.compareHash(nil, name: "010101010101", of: token) }),
      ("a hash's name", { $0.compareHash(token, name: "01", of: token) }),
    ])
  }

  @Test func `an answer in other frames is found`() throws {
    let (id, bytes) = (try id(), Array(String(repeating: "a", count: 1_500).utf8))
    let object = HealthObject(succeeded: true, bytes: bytes)
    let frames = PhoneMessage.frames(answering: .healthData, id, object, atMost: 1_024)
    #expect(frames.count > 1)
    try RelayKeptWalk.expect(each: [
      (nil, { $0.compareFrames(frames, of: bytes, id, 1_024) }),
      (
        "an answer of 1500 bytes in frames of 1024",
        { $0.compareFrames(frames.dropLast(), of: bytes, id, 1_024) }
      ),
    ])
  }
}
