import Foundation
import Holdfast
import HoldfastMessageData
import HoldfastTestKit
import Testing

/// Tests of `send --image` and `image`, with the real backend.
@Suite(.timeLimit(.minutes(60))) struct ImageCommandTests {
  private static let png =
    [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + [UInt8](repeating: 7, count: 200_000)

  @Test func `sends an image, shows it and downloads it`() async throws {
    try await CommandShop.run { shop in
      try await CommandProcess.scratch { directory in
        let token = ["HOLDFAST_TOKEN": try await shop.token()]
        let file = directory + "/rye.png"
        try Data(Self.png).write(to: URL(filePath: file))
        let sent = try await CommandProcess.run(
          shop.arguments("send", ["--image", file, "Fresh"]), environment: token)
        #expect(sent.status == 0, "\(sent.errors)")
        let stream = try await shop.stream()
        let line = await stream.line(with: "message", "Fresh")
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        let url = try #require((object?["images"] as? [String])?.first)
        #expect(object?["text"] as? String == "Fresh\n[IMAGE:\(url)]")
        #expect(await stream.end().status == 0)
        let history = try await CommandProcess.run(
          ["history", "--data", shop.directory], environment: token)
        #expect(history.output.contains { $0.hasSuffix("Fresh\\n[image \(url)]") })
        try await Self.download(url, to: directory + "/copy.png", from: shop, token)
      }
    }
  }

  private static func download(
    _ url: String, to file: String, from shop: CommandShop, _ token: [String: String]
  ) async throws {
    let server = ["image", "--server", shop.url, "--output", file]
    let got = try await CommandProcess.run(server + [url], environment: token)
    #expect(got.output == ["\(file): png, \(png.count) bytes"], "\(got.errors)")
    #expect(try Data(contentsOf: URL(filePath: file)) == Data(png))
    let id = try #require(ShopImage.id(in: url))
    let json = try await CommandProcess.run(server + ["--json", "\(id)"], environment: token)
    #expect(json.output.first?.contains(#""type":"png","bytes":\#(png.count)"#) == true)
    let unknown = try await CommandProcess.run(
      server + ["9b2e6f0c-5a0e-4d0b-8f7e-2f4f3f1d6c11"], environment: token)
    #expect(
      unknown
        == .failure(
          1,
          "holdfast image: the server has no image 9b2e6f0c-5a0e-4d0b-8f7e-2f4f3f1d6c11; "
            + "it may have been deleted with its message; an image has another id than a message"))
    #expect(try Data(contentsOf: URL(filePath: file)) == Data(png), "the old file remains")
    let foreign = try await CommandProcess.run(
      server + ["https://a.example/1.png"], environment: token)
    #expect(foreign.status == 2)
  }

  @Test func `an edit keeps the image unless it is to remove it`() async throws {
    try await CommandShop.run { shop in
      try await CommandProcess.scratch { directory in
        let token = ["HOLDFAST_TOKEN": try await shop.token()]
        let file = directory + "/rye.png"
        try Data(Self.png).write(to: URL(filePath: file))
        let first = try await CommandProcess.run(shop.arguments("send", ["1"]), environment: token)
        #expect(first.status == 0)
        let sent = try await CommandProcess.run(
          shop.arguments("send", ["--json", "--image", file, "Fresh"]), environment: token)
        let line = try #require(sent.output.first)
        let id = try #require(try [String: Any].reading(line)["id"] as? String)
        let stream = try await shop.stream()
        let message = await stream.line(with: "message", "Fresh")
        let url = try #require((try [String: Any].reading(message)["images"] as? [String])?.first)
        let edited = try await CommandProcess.run(
          shop.arguments("edit", [id, "Fresher"]), environment: token)
        #expect(edited.status == 0, "\(edited.errors)")
        let kept = try [String: Any].reading(await stream.line(with: "edited", "Fresher"))
        #expect(kept["text"] as? String == "Fresher\n[IMAGE:\(url)]")
        let image = ["image", "--server", shop.url, "--output", directory + "/copy.png", url]
        #expect(try await CommandProcess.run(image, environment: token).status == 0)
        let removed = try await CommandProcess.run(
          shop.arguments("edit", ["--remove-image", id, "Sold out"]), environment: token)
        #expect(removed.status == 0, "\(removed.errors)")
        let bare = try [String: Any].reading(await stream.line(with: "edited", "Sold out"))
        #expect(bare["text"] as? String == "Sold out")
        #expect(try await CommandProcess.run(image, environment: token).status == 1)
        #expect(await stream.end().status == 0)
      }
    }
  }

  @Test func `an image has one output, and failures have their own statuses`() async throws {
    try await CommandProcess.scratch { directory in
      let token = ["HOLDFAST_TOKEN": "any.good.token"]
      let id = "9b2e6f0c-5a0e-4d0b-8f7e-2f4f3f1d6c11"
      let image = ["image", "--server", "http://127.0.0.1:1", "--output"]
      let both = try await CommandProcess.run(image + ["-", "--json", id], environment: token)
      #expect(
        both
          == .failure(
            2, "holdfast image: --output - and --json both need standard output; name a file"))
      let folder = try await CommandProcess.run(image + [directory, id], environment: token)
      #expect(folder.status == 1)
      let file = directory + "/old.png"
      try Data([1]).write(to: URL(filePath: file))
      let offline = try await CommandProcess.run(image + [file, id], environment: token)
      #expect(offline.status == 6, "\(offline.errors)")
      #expect(try Data(contentsOf: URL(filePath: file)) == Data([1]))
      let bad = try await CommandProcess.run(image + [file, "rye"], environment: token)
      #expect(bad.status == 2)
    }
  }

  @Test func `a message needs a text or an image that can be sent`() async throws {
    try await CommandProcess.scratch { directory in
      let token = ["HOLDFAST_TOKEN": "any.good.token"]
      let send = ["send", "--server", "http://127.0.0.1:1", "--shop", "bakery"]
      let none = try await CommandProcess.run(send, environment: token)
      #expect(
        none
          == .failure(
            2,
            "holdfast send: TEXT is missing; add TEXT, the message; - reads it from standard input")
      )
      let text = directory + "/note.txt"
      try Data("hello".utf8).write(to: URL(filePath: text))
      let kind = try await CommandProcess.run(send + ["--image", text], environment: token)
      #expect(
        kind
          == .failure(
            1,
            "holdfast send: \(text) was not sent: it is no JPEG, PNG, GIF, WebP or HEIC image; "
              + "convert it to JPEG or PNG"))
      let large = directory + "/large.png"
      try Data(Self.png + [UInt8](repeating: 0, count: ShopImage.mostBytes))
        .write(to: URL(filePath: large))
      let size = try await CommandProcess.run(send + ["--image", large], environment: token)
      #expect(
        size
          == .failure(
            1, "holdfast send: \(large) has more than 5242880 bytes; use a smaller file"))
      let missing = try await CommandProcess.run(
        send + ["--image", directory + "/none.png"], environment: token)
      #expect(missing.status == 1)
    }
  }
}
