import Foundation
import HoldfastCore
import HoldfastMessageData
import HoldfastTestKit
import Testing

/// Tests of numbers in the message stream's requirements that only the whole program shows.
@Suite(.timeLimit(.minutes(60))) struct SeedNumbersTests {
  @Test func `a development token lives for an hour unless told otherwise`() async throws {
    try await CommandProcess.scratch { directory in
      let before = Date().timeIntervalSince1970
      let outcome = try await CommandProcess.run(
        "token", "--user", "ann", "--shops", "bakery", "--data", directory + "/data", "--create")
      let after = Date().timeIntervalSince1970
      let token = try #require(outcome.output.first)
      var payload = token.split(separator: ".")[1].replacing("-", with: "+")
        .replacing("_", with: "/")
      while !payload.count.isMultiple(of: 4) { payload += "=" }
      let claims = try #require(Data(base64Encoded: String(payload)))
      let object = try [String: Any].reading(String(decoding: claims, as: UTF8.self))
      let expires = try #require(object["exp"] as? Double)
      #expect(expires > before + 3600 - 1.5 && expires < after + 3600 + 1.5)
    }
  }

  @Test(arguments: [("UTC0", 0), ("XYZ-05:45", 20_700), ("ABC+08", -28_800)])
  func `a message is shown in the reader's time zone`(
    zone: String, offset: Int
  ) async throws {
    try await CommandShop.run { shop in
      let message = try await shop.post("hello")
      let outcome = try await CommandProcess.run(
        shop.arguments("stream", ["--data", shop.directory, "--once"]),
        environment: ["HOLDFAST_TOKEN": try await shop.token(), "TZ": zone])
      let line = try #require(outcome.output.first { $0.hasSuffix("hello") })
      let format = DateFormatter()
      format.locale = Locale(identifier: "en_US_POSIX")
      format.timeZone = TimeZone(secondsFromGMT: offset)
      format.dateFormat = "HH:mm"
      let created = Double(message.createdAt.nanoseconds) / 1e9
      #expect(line.contains(format.string(from: Date(timeIntervalSince1970: created))))
    }
  }
}
