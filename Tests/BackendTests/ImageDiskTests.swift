import Foundation
import HoldfastBackend
import HoldfastCore
import HoldfastMessageData
import HoldfastTestKit
import HoldfastUploads
import Testing

#if canImport(Glibc)
  import Glibc

  /// Tests of uploads on a small disk, over real sockets.
  @Suite(
    .enabled(if: geteuid() == 0, "needs root to mount a disk"), .offThePool,
    .timeLimit(.minutes(60)))
  struct ImageDiskTests {
    /// Runs `body` with a data directory on a disk of 24 MiB, of which uploads leave 2.4 MiB free.
    private static func lend(_ body: (Scratch) async throws -> Void) async throws {
      let scratch = try Scratch()
      let data = scratch("data")
      guard unsafe mkdir(data, 0o700) == 0,
        unsafe mount("tmpfs", data, "tmpfs", 0, "size=24m,mode=700") == 0
      else { try Test.cancel("mounting is not allowed here") }
      defer { unsafe umount2(data, Int32(MNT_DETACH)) }
      try await body(scratch)
    }

    private static func uploads(_ scratch: Scratch) -> Int {
      let path = scratch("data/image-uploads")
      return (try? FileManager.default.contentsOfDirectory(atPath: path))?.count ?? 0
    }

    private static func free(_ scratch: Scratch) -> Int {
      var disk = statvfs()
      guard unsafe statvfs(scratch("data"), &disk) == 0 else { return 0 }
      return Int(disk.f_bavail) * Int(disk.f_frsize)
    }

    /// Fills the disk except for `count` bytes.
    private static func fill(_ scratch: Scratch, leaving count: Int) throws {
      try scratch.write(
        [UInt8](repeating: 1, count: max(0, free(scratch) - count)), to: "data/filler")
    }

    private static let content = "GIF89a" + String(repeating: "0123456789", count: 300_000)

    /// Begins an upload with 3 MB of its content. Returns the final response.
    private static func begin(_ rig: BackendRig) async throws -> SocketsClient.Response {
      let upload = UploadFields(.current, length: 3_000_007, isComplete: false)
      let client = try rig.client()
      let response = try await client.ask(
        "POST", ImageRoute.upload.path + "?shop_id=bakery", token: rig.token(),
        fields: upload.fields.map { "\($0.name): \($0.value)" }, body: content)
      return response.status == 104 ? try await client.speak("") : response
    }

    @Test func `uploads leave room for messages`() async throws {
      try await Self.lend { scratch in
        try await BackendRig.run(in: scratch("data")) { rig in
          let client = try rig.client()
          let token = try await rig.token()
          for _ in 0..<12 { #expect(try await Self.begin(rig).status == 201) }
          #expect(Self.free(scratch) > 2_400_000)
          #expect((3...7).contains(Self.uploads(scratch)))
          let message = try await client.post("text", token: token).message()
          #expect(try await client.delete(message.id, token: token).status == 200)
        }
      }
    }

    @Test func `an upload and an image are refused on a disk that is almost full`() async throws {
      try await Self.lend { scratch in
        try await BackendRig.run(in: scratch("data")) { rig in
          let token = try await rig.token()
          let client = try rig.client()
          _ = try await client.post("text", token: token).message()
          try Self.fill(scratch, leaving: 2 << 20)
          let image = try await client.ask(
            "POST", ImageRoute.upload.path + "?shop_id=bakery", token: token, body: "GIF89a")
          for answer in [try await Self.begin(rig), image] {
            #expect(answer.status == 503)
            #expect(answer.headers["retry-after"] == "30")
            #expect(answer.body.contains("The server's disk is almost full"))
          }
          _ = try await client.post("text", token: token).message()
          #expect(try await client.ask("GET", "/healthz").status == 200)
          // Another test's child process may have inherited the open file, which would keep its space.
          #expect(unsafe truncate(scratch("data/filler"), 0) == 0)
          let answer = try await Self.begin(rig)
          #expect(answer.status == 201, "\(answer)")
        }
      }
    }

    @Test func `the oldest uploads are removed at a start on a disk that is almost full`()
      async throws
    {
      try await Self.lend { scratch in
        try await BackendRig.run(in: scratch("data")) { rig in
          for _ in 0..<4 {
            let status = try await Self.begin(rig).status
            #expect(status == 201)
          }
        }
        #expect(Self.uploads(scratch) == 4)
        try Self.fill(scratch, leaving: 1 << 20)
        try await BackendRig.run(in: scratch("data")) { rig in
          while Self.uploads(scratch) > 3 { await Task.yield() }
          _ = try await rig.client().post("text", token: rig.token()).message()
          #expect(Self.uploads(scratch) == 3)
        }
      }
    }
  }
#endif
