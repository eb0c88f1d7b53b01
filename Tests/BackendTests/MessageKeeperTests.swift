import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// Tests of the removal of old messages by a backend.
@Suite(.timeLimit(.minutes(60))) struct MessageKeeperTests {
  private static func configure(_ configuration: inout BackendConfiguration) {
    configuration.policy.postInterval = .milliseconds(1)
    configuration.policy.postBurst = 10_000
    configuration.retention.sizeInterval = .milliseconds(20)
    configuration.retention.interval = .milliseconds(20)
  }

  /// Fetches pages until the log begins at an offset or later.
  private static func page(
    _ query: String, of rig: BackendRig, from oldest: UInt64, _ token: String
  ) async throws -> Page {
    let client = try rig.client()
    while true {
      let page = try await client.page(query, token: token, events: true)
      if page.oldest?.offset ?? 1 >= oldest { return page }
    }
  }

  @Test func `the oldest messages are removed, positions before them are not recovered`()
    async throws
  {
    let scratch = try Scratch()
    var head: ShopPosition?
    try await BackendRig.run(in: scratch("data")) {
      Self.configure(&$0)
      $0.retention.bytes.usual = 6_000
    } _: { rig in
      let (client, token) = (try rig.client(), try await rig.token())
      let key = UUID128(high: 9, low: 9)
      let first = try await client.post("secret 1", token: token, key: key).message()
      for number in 2...60 { _ = try await client.post("secret \(number)", token: token) }
      let page = try await Self.page("page=1&limit=100", of: rig, from: 38, token)
      head = page.head
      #expect(page.head?.offset == 60)
      #expect(page.messages.last?.position == page.oldest)
      #expect(page.messages.count == Int(60 - (page.oldest?.offset ?? 0)) + 1)
      try await Self.expectNothingBefore(#require(first.position), of: rig, token)
      let other = try rig.client()
      let again = try await other.post("secret 1", token: token, key: key)
      #expect(again.status == 410, "the original was removed, and is not stored again")
      try await Self.expectNotes(of: rig)
    }
    try await keepsTheNewest(in: scratch("data"), head)
  }

  /// Expects that what follows a removed message is not sent as if it were complete.
  private static func expectNothingBefore(
    _ position: ShopPosition, of rig: BackendRig, _ token: String
  ) async throws {
    let client = try rig.client()
    let missed = try await client.page("after=\(position)&limit=5", token: token, events: true)
    #expect(!missed.recovered && missed.oldest != nil)
    let answer = try await client.follow(token: token, after: position.description, events: true)
    #expect(answer.status == 101)
    #expect(answer.headers["holdfast-after"] == nil)
  }

  /// Expects metrics and a line of the log about a removal, without texts.
  private static func expectNotes(of rig: BackendRig) async throws {
    let metrics = try await rig.client().ask("GET", "/metrics").body
    #expect(metrics.contains("\nholdfast_retention_removed_messages_total "))
    await rig.lines.wait { $0.contains("messages_removed") }
    #expect(rig.lines.all.allSatisfy { !$0.contains("secret") })
  }

  /// Expects that all may be removed but for the newest message, which keeps the head.
  private func keepsTheNewest(in data: String, _ head: ShopPosition?) async throws {
    try await BackendRig.run(in: data) {
      Self.configure(&$0)
      $0.retention.age.usual = .nanoseconds(1)
    } _: { rig in
      let token = try await rig.token()
      let page = try await Self.page("page=1&limit=100", of: rig, from: 60, token)
      #expect(page.head == head)
      #expect(page.messages.map(\.text) == ["secret 60"])
      let next = try await rig.client().post("next", token: token).message()
      #expect(next.position?.offset == 61)
    }
    try await BackendRig.run(in: data) { rig in
      let page = try await Self.page("page=1&limit=100", of: rig, from: 60, rig.token())
      #expect(page.head?.offset == 61)
    }
  }

  @Test func `a shop may have an age of its own`() async throws {
    try await BackendRig.run {
      Self.configure(&$0)
      $0.retention.age.shops.updateValue(.nanoseconds(1), forKey: BackendRig.shop)
    } _: { rig in
      let shops = [BackendRig.shop, BackendRig.other]
      let (client, token) = (try rig.client(), try await rig.token(shops: shops))
      for shop in shops {
        for text in ["1", "2", "3"] { _ = try await client.post(text, to: shop, token: token) }
      }
      let page = try await Self.page("page=1&limit=9", of: rig, from: 3, token)
      #expect(page.messages.map(\.text) == ["3"])
      let other = try await client.ask(
        "GET", ShopRoute.paginated(BackendRig.other).path + "?page=1&limit=9", token: token)
      let kept = try other.page(of: BackendRig.other)
      #expect(kept.messages.map(\.text) == ["3", "2", "1"])
      #expect(kept.oldest == nil)
    }
  }

  @Test func `a store that cannot remove messages is refused`() async throws {
    let error = await #expect(throws: BackendError.self) {
      try await BackendRig.run(store: LastingLog()) {
        $0.retention.age.usual = .seconds(60)
      } _: { _ in
      }
    }
    #expect(error?.description.contains("cannot remove old messages") == true)
  }
}

/// A log without the removal of its beginning.
private struct LastingLog: ForwardingLog {
  let log: any MessageLog = MemoryMessageLog()
}
