import Foundation
import HoldfastBottleData
import HoldfastCore
import HoldfastRelayData
import HoldfastSessionData
import HoldfastSyncData
import HoldfastTestKit
import HoldfastUploads
import Testing

/// The encoded form that a value has in stores and journals, and a generator of random values.
struct StoredForm: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// Draws a random value and returns its encoded form.
  let draw: @Sendable (inout RandomSource) throws -> [UInt8]
  /// Decodes an encoded value and encodes it again. Throws an error if the encoded value is
  /// invalid.
  let rewritten: @Sendable ([UInt8]) throws -> [UInt8]

  init<Value: Codable & Equatable & Sendable>(
    _ name: String, random: @escaping @Sendable (inout RandomSource) -> Value
  ) {
    self.init(
      name, read: { try JSONDecoder().decode(Value.self, from: Data($0)) },
      write: { [UInt8](try JSONEncoder().encode($0)) }, random: random)
  }

  init<Value: Equatable & Sendable>(
    _ name: String, read: @escaping @Sendable ([UInt8]) throws -> Value,
    write: @escaping @Sendable (Value) throws -> [UInt8],
    random: @escaping @Sendable (inout RandomSource) -> Value
  ) {
    testDescription = name
    draw = { generator in
      let value = random(&generator)
      let bytes = try write(value)
      #expect(try read(bytes) == value)
      return bytes
    }
    rewritten = { try write(read($0)) }
  }

  static let all = [
    StoredForm("change of a session's client") { $0.clientSessionChange() },
    StoredForm("client of a session") { generator in
      var snapshot = ClientSessionSnapshot(client: .random(using: &generator))
      let change = generator.clientSessionChange()
      (snapshot.prompts, snapshot.conversations) = (change.prompts, change.conversations)
      snapshot.unshown = change.news.map { NumberedSessionNews(number: 1, news: $0) }
      return snapshot
    },
    StoredForm("session") { generator in
      var stored = StoredSessions()
      for _ in 0..<6 { stored.apply(generator.sessionChange()) }
      return stored
    },
    StoredForm("relay") { generator in
      var stored = StoredRelay()
      for _ in 0..<8 { stored.apply(generator.relayChange()) }
      return stored
    },
    StoredForm("change of a relay") { $0.relayChange() },
    StoredForm("queue of a sync") { generator in
      var queue = StoredSyncQueue()
      for _ in 0..<8 { queue.apply(generator.syncStep()) }
      return queue
    },
    StoredForm("step of a sync") { $0.syncStep() },
    StoredForm(
      "ticket of an upload", read: UploadTicket.read, write: \.bytes, random: { $0.ticket() }),
    StoredForm("change of a timeline") { $0.timelineChange() },
    StoredForm("commit of a timeline") { $0.timelineCommit() },
    StoredForm("change of drinks") { generator in
      var change = DrinkChange(at: generator.timestamp())
      change.bottle = generator.maybe {
        KnownBottle(PeripheralID(.random(using: &$0)), name: $0.maybe { $0.text(upTo: 2) })
      }
      change.records = generator.few {
        BottleRecord(id: UInt32($0.number() & 0xFFFF), time: 7, amount: -30, level: 1, flags: [])
      }
      (change.via, change.deleted) = (
        generator.one(BottleDrink.Via.allCases), generator.maybe { _ in 7 }
      )
      return change
    },
  ]
}

@Suite struct StoredFormTests {
  @Test(arguments: StoredForm.all)
  func `refuses a truncated form`(form: StoredForm) throws {
    var generator = RandomSource(seed: 30)
    for _ in 0..<20 {
      let bytes = try form.draw(&generator)
      for _ in 0..<4 {
        let end = Int.random(in: 0..<bytes.count, using: &generator)
        #expect(throws: (any Error).self) { try form.rewritten(Array(bytes[..<end])) }
      }
    }
  }

  @Test(arguments: StoredForm.all)
  func `refuses a value of another kind, and a missing one unless it is optional`(
    form: StoredForm
  ) throws {
    var generator = RandomSource(seed: 31)
    for _ in 0..<20 {
      let tree = try JSONTree(form.draw(&generator))
      guard let retyped = tree.damaged(by: &generator, isDropped: false) else { continue }
      let text = retyped.spelled(by: &generator, isExtended: false)
      #expect(throws: (any Error).self, "\(text)") { try form.rewritten(Array(text: text)) }
      guard let dropped = tree.damaged(by: &generator, isDropped: true) else { continue }
      let rest = Array(text: dropped.spelled(by: &generator, isExtended: false))
      guard let written = try? form.rewritten(rest) else { continue }
      #expect(try JSONTree(written) == dropped)
    }
  }

  @Test func `a journal of a version without edits is read, and written as it was`() throws {
    let change = Array(text: #"{"messages":[],"outboxPut":[],"outboxRemove":[]}"#)
    let commit = Array(text: #"{"inserted":[],"edited":[]}"#)
    let forms = StoredForm.all.filter { $0.testDescription.hasSuffix("of a timeline") }
    #expect(forms.count == 2)
    for (form, bytes) in zip(forms, [change, commit]) {
      #expect(try JSONTree(form.rewritten(bytes)) == JSONTree(bytes))
    }
  }

  @Test func `changes keep a relay sorted, with the latest values`() {
    var generator = RandomSource(seed: 32)
    var stored = StoredRelay()
    var phones: [PhoneID: StoredPhone] = [:]
    var accesses: [TokenHash: StoredAccess] = [:]
    var sessions: [TokenHash: StoredAssistantSession] = [:]
    for _ in 0..<500 {
      let change = generator.relayChange()
      stored.apply(change)
      switch change {
      case .phone(let phone): phones[phone.id] = phone
      case .endPhone(let id): phones[id] = nil
      case .access(let access): accesses[access.token] = access
      case .endAccess(let token): accesses[token] = nil
      case .session(let session): sessions[session.id] = session
      case .endSession(let id): sessions[id] = nil
      case .question, .endQuestion: break
      }
      #expect(stored.phones == phones.values.sorted { $0.id < $1.id })
      #expect(stored.accesses == accesses.values.sorted { $0.token < $1.token })
      #expect(stored.sessions == sessions.values.sorted { $0.id < $1.id })
      let ids = stored.questions.map(\.id)
      #expect(Set(ids).count == ids.count)
      if case .endPhone(let id) = change { #expect(!stored.questions.map(\.phone).contains(id)) }
    }
  }
}

extension JSONTree {
  /// Returns the value with one member, at any depth, omitted or replaced by a value of another
  /// kind.
  fileprivate func damaged(by generator: inout RandomSource, isDropped: Bool) -> JSONTree? {
    switch self {
    case .object(var members):
      guard let name = members.keys.sorted().randomElement(using: &generator) else { return nil }
      if generator.flag(), let inner = members[name]?.damaged(by: &generator, isDropped: isDropped)
      {
        members[name] = inner
      } else if isDropped {
        members[name] = nil
      } else {
        members[name] = members[name]?.kind == "string" ? .int(7) : .string("odd")
      }
      return .object(members)
    case .array(var elements):
      let objects = elements.indices.filter { elements[$0].kind == "object" }
      guard let index = objects.randomElement(using: &generator),
        let inner = elements[index].damaged(by: &generator, isDropped: isDropped)
      else { return nil }
      elements[index] = inner
      return .array(elements)
    case .string, .int, .double, .bool, .null: return nil
    }
  }
}
