import Foundation
import HoldfastBackend
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60))) struct BackendLifeTests {
  @Test func `a drain warns followers, closes their sockets with 1001 and stops the backend`()
    async throws
  {
    try await BackendRig.run {
      // The kernel may give a port that it selected to another test after the stop.
      $0.port = TestPort.random()
      $0.policy.drainGrace = .milliseconds(100)
      ($0.policy.closeWait, $0.policy.drainLimit) = (.seconds(3_600), .seconds(3_600))
    } _: { rig in
      let follower = try await rig.follower()
      async let drained: Void = rig.backend.drainAndStop()
      #expect(try await follower.message() == .draining(within: .seconds(5)))
      #expect(try await follower.frame() == .close(1001, "draining within_ms=5000"))
      #expect(try await rig.client().ask("GET", "/healthz").status == 503)
      try await follower.answerClose(1001)
      #expect(await follower.isAtEnd())
      await drained
      #expect(throws: (any Error).self) { try rig.client() }
      #expect(rig.lines.all.last?.contains(#""event":"stopped""#) == true)
    }
  }

  @Test func `keeps its messages after a kill`() async throws {
    try await BackendRig.run { rig in
      let token = try await rig.token()
      let follower = try await rig.follower()
      let first = try await rig.client().post("first", token: token).message()
      await rig.backend.kill()
      #expect(try await follower.message() == .message(first))
      #expect(await follower.isAtEnd())
      try await BackendRig.run(in: rig.configuration.dataDirectory) { again in
        let client = try again.client()
        let second = try await client.post("second", token: token).message()
        #expect(second.position?.epoch == first.position?.epoch)
        #expect(second.position?.offset == 2)
        let all = try await client.ask("GET", ShopRoute.all(BackendRig.shop).path, token: token)
        #expect(try all.page().messages == [first, second])
      }
    }
  }

  @Test func `restarts on the same port immediately`() async throws {
    try await BackendRig.run { rig in
      let follower = try await rig.follower()
      await rig.backend.kill()
      try await BackendRig.run(in: rig.configuration.dataDirectory) {
        $0.port = rig.address.port
      } _: { again in
        #expect(again.address == rig.address)
        let health = try await again.client().ask("GET", "/healthz")
        #expect(health.status == 200)
      }
      withExtendedLifetime(follower) {}
    }
  }

  @Test func `does not start twice, nor on a taken port, nor over a locked directory`()
    async throws
  {
    try await BackendRig.run { rig in
      await #expect(throws: BackendError.alreadyStarted) { try await rig.backend.start() }
      var taken = BackendConfiguration(dataDirectory: rig.configuration.dataDirectory + "/2")
      taken.port = rig.address.port
      let second = Backend(taken)
      let refused = await #expect(throws: BackendError.self) { try await second.start() }
      #expect(refused?.description.hasPrefix("cannot listen:") == true)
      #expect(!FileManager.default.fileExists(atPath: taken.dataDirectory))
      let third = Backend(
        BackendConfiguration(dataDirectory: rig.configuration.dataDirectory))
      let locked = await #expect(throws: BackendError.self) { try await third.start() }
      #expect(locked?.description.hasPrefix("cannot open the store:") == true)
    }
  }

  @Test
  func `reloads the removed members on request and keeps the old list if the new one is invalid`()
    async throws
  {
    try await BackendRig.run { rig in
      let token = try await rig.token()
      let follower = try await rig.follower()
      let path = rig.configuration.dataDirectory + "/removed.json"
      try #"{"removed":[{"user":"ann","shop":"bakery"}]}"#.write(
        toFile: path, atomically: true, encoding: .utf8)
      try await rig.backend.reload()
      #expect(try await follower.close() == .close(4403, "removed from the shop"))
      for bad in [#"{"removed":[{"user":"ann"}]}"#, "{}"] {
        try bad.write(toFile: path, atomically: true, encoding: .utf8)
        await #expect(throws: BackendError.self) { try await rig.backend.reload() }
        #expect(try await rig.client().follow(token: token).status == 403)
      }
      try FileManager.default.removeItem(atPath: path)
      try await rig.backend.reload()
      #expect(try await rig.client().follow(token: token).status == 101)
    }
  }

  @Test func `logs when an address has reached its connection limit`() async throws {
    try await BackendRig.run {
      $0.maxConnectionsPerAddress = 1
    } _: { rig in
      let follower = try await rig.follower()
      let first = try rig.client()
      #expect(try await first.ask("GET", "/healthz").status == 200)
      #expect(try await rig.client().isAtEnd())
      await rig.backend.kill()
      #expect(
        rig.lines.all.contains { $0.hasSuffix(#""event":"crowded","address":"127.0.0.0/24"}"#) })
      withExtendedLifetime((follower, first)) {}
    }
  }

  @Test func `logs users and their actions, but no token, query or message text`() async throws {
    try await BackendRig.run { rig in
      let token = try await rig.token()
      let client = try rig.client()
      _ = try await client.post("a private word", token: token)
      _ = try await client.ask(
        "GET", ShopRoute.all(BackendRig.shop).path + "?token=\(token)&secret=s3cret")
      let follower = try rig.client()
      _ = try await follower.follow(token: nil, query: "?token=\(token)")
      _ = try await rig.client().follow(token: nil, query: "?token=bad")
      await rig.backend.kill()
      #expect(await follower.isAtEnd())
      let log = rig.lines.all
      let events = log.compactMap { $0.split(separator: #""event":""#).last?.prefix { $0 != "\"" } }
      #expect(
        events == [
          "listening", "request", "request", "opened", "refused", "closed", "stopped",
        ])
      let request = try #require(log.first { $0.contains(#""route":"send""#) })
      #expect(request.contains(#""user":"ann","shop":"bakery","status":201"#))
      for line in log {
        #expect(!line.contains(token.suffix(43)))
        #expect(!line.contains("s3cret"))
        #expect(!line.contains("private"))
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
        #expect(object is [String: Any])
      }
    }
  }
}
