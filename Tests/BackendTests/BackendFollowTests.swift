import HoldfastBackend
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastTestKit
import Testing

/// Tests that a client with events and a plain one end with what the server has, whatever happens
/// to their connections and to the server.
@Suite(.timeLimit(.minutes(60))) struct BackendFollowTests {
  @Test(arguments: [UInt64](1...3))
  func `a client with events and a plain one end with what the server has`(seed: UInt64)
    async throws
  {
    let scratch = try Scratch()
    var day = FollowedDay(seed: seed)
    for _ in 1...3 {
      try await BackendRig.run(in: scratch("data")) {
        $0.policy.postBurst = 10_000
        $0.policy.backlogLimit = 8
      } _: { rig in
        try await day.live(on: rig, changes: 60)
      }
    }
    #expect(day.events.faults == [])
    #expect(day.events.resumed > 0)
    #expect(day.plain.frames > 0)
    #expect(day.deletions > 0)
    #expect(day.edits > 0)
  }
}

/// Posts, edits and deletions of three users and an admin, with two followers whose connections are
/// cut.
private struct FollowedDay {
  private(set) var events = EventFollower()
  private(set) var plain = PlainFollower()
  private(set) var edits = 0
  private(set) var deletions = 0
  private var generator: RandomSource
  /// The messages that were not deleted, with their authors.
  private var live: [(id: MessageID, user: String)] = []
  private var last: ShopPosition?
  private var lastPost: MessageID?

  init(seed: UInt64) { generator = RandomSource(seed: seed) }

  /// Makes changes on one run of a server, and then compares both followers with it.
  mutating func live(on rig: BackendRig, changes: Int) async throws {
    var tokens = ["admin": try await rig.token("admin", admin: [BackendRig.shop])]
    for user in ["ann", "bob", "eve"] { tokens[user] = try await rig.token(user) }
    let token = try await rig.token("reader")
    try await connect(to: rig, token)
    let client = try rig.client()
    for step in 1...changes {
      if step % Int.random(in: 7...11, using: &generator) == 0 {
        await cut()
        for _ in 0..<Int.random(in: 0...12, using: &generator) { try await change(client, tokens) }
        try await connect(to: rig, token)
      }
      try await change(client, tokens)
      try await read()
    }
    try await compare(with: rig, token)
  }

  private mutating func connect(to rig: BackendRig, _ token: String) async throws {
    try await events.connect(to: rig, token: token)
    try await plain.connect(to: rig, token: token)
    lastPost = nil
  }

  private mutating func cut() async {
    await events.cut()
    await plain.cut()
  }

  /// Reads what the last change was sent as.
  private mutating func read() async throws {
    if let last { try await events.read(to: last) }
    if let post = lastPost { try await plain.read(to: post) }
    lastPost = nil
  }

  private mutating func change(_ client: BackendClient, _ tokens: [String: String]) async throws {
    let user = ["ann", "bob", "eve"].randomElement(using: &generator) ?? ""
    let own = live.indices.filter { live[$0].user == user }.randomElement(using: &generator)
    switch (Int.random(in: 0..<6, using: &generator), own) {
    case (0..<2, let own?):
      edits += 1
      let text = "edit \(edits)"
      let answer = try await client.edit(live[own].id, to: text, token: tokens[user] ?? "")
      last = try answer.message().changed
    case (2, let own?):
      deletions += 1
      let deleter = Bool.random(using: &generator) ? user : "admin"
      let id = live.remove(at: own).id
      let answer = try await client.delete(id, token: tokens[deleter] ?? "")
      #expect(answer.status == 200)
      last = last.map { ShopPosition(epoch: $0.epoch, offset: $0.offset + 1) }
    case _:
      let message = try await client.post("by \(user)", token: tokens[user] ?? "").message()
      live.append((message.id, user))
      (last, lastPost) = (message.position, message.id)
    }
  }

  private mutating func compare(with rig: BackendRig, _ token: String) async throws {
    try await plain.refresh(rig, token: token)
    var found: [MessageID: ShopMessage] = [:]
    var page = try await rig.client().page("page=1&limit=100", token: token, events: true)
    for message in page.messages { found[message.id] = message }
    while page.hasNext, let oldest = page.messages.last?.position {
      page = try await rig.client().page("before=\(oldest)", token: token, events: true)
      for message in page.messages { found[message.id] = message }
    }
    #expect(Set(found.keys) == Set(live.map(\.id)))
    #expect(events.messages == found)
    for (id, message) in found {
      var shown = message
      shown.changed = nil
      #expect(plain.messages[id] == shown)
    }
    #expect(plain.messages.count == found.count)
  }
}
