import Foundation
import HoldfastCore
import Testing

@testable import HoldfastAppleNetwork

/// Tests of URLs as Foundation parses them.
@Suite struct WebAddressTests {
  private static let schemes = ["ws": false, "wss": true]

  private static func address(
    _ url: String, query: [(name: String, value: String)] = []
  ) throws(LinkFailure) -> WebAddress {
    try WebAddress(url, query: query, schemes: schemes)
  }

  @Test(arguments: [
    ("wss://shop.example", "shop.example", "https://shop.example:443/?t=%201"),
    ("WSS://shop.example:443/", "shop.example", "https://shop.example:443/?t=%201"),
    ("ws://127.0.0.1:80/b", "127.0.0.1", "http://127.0.0.1:80/b?t=%201"),
    ("ws://[::1]:8080/x?y=z#f", "[::1]:8080", "http://[::1]:8080/x?y=z&t=%201"),
    ("wss://a.example:80/%C3%A4?q=%20", "a.example:80", "https://a.example:80/%C3%A4?q=%20&t=%201"),
    ("ws://a.example:65535/", "a.example:65535", "http://a.example:65535/?t=%201"),
    ("ws://a.example:0/", "a.example:0", "http://a.example:0/?t=%201"),
  ])
  func `a URL has its authority and target`(url: String, authority: String, whole: String) throws {
    let address = try Self.address(url, query: [("t", " 1")])
    #expect(address.authority == authority)
    #expect(address.url == whole)
  }

  @Test func `query items are encoded and follow the query of the URL`() throws {
    let address = try Self.address("wss://a/p?x", query: [("a b", "ä&=#"), ("", "/")])
    #expect(address.target == "/p?x&a%20b=%C3%A4%26%3D%23&=%2F")
    #expect(try Self.address("wss://a").target == "/")
  }

  @Test(arguments: [
    ("wss://b\u{FC}cher.example/", "xn--bcher-kva.example"),
    ("wss://\u{4F8B}\u{3048}.\u{30C6}\u{30B9}\u{30C8}/", "xn--r8jz45g.xn--zckzah"),
  ])
  func `an international host name is sent in ASCII`(url: String, host: String) throws {
    #expect(try Self.address(url).host == host)
  }

  @Test(arguments: [
    "", "nonsense", "http://a", "ws://", "ws:///p", "ws:a", "wss://u:p@host/", "wss://u@host/",
    "wss://host:99999/", "wss://host:65536/", "wss://host:-1/", "wss://host:x/", "wss://a b/",
    "wss://[::1/", "ws://:80/",
  ])
  func `an invalid URL is a local failure that does not repeat the URL`(url: String) {
    let found = failure(url)
    guard case .local(let detail) = found else {
      Issue.record("\(url): \(String(describing: found))")
      return
    }
    #expect(url.isEmpty || !detail.contains(url))
  }

  @Test(arguments: [
    ("ws://localhost", true), ("ws://LOCALHOST", true), ("ws://127.0.0.1", true),
    ("ws://[::1]", true), ("ws://126.255.255.255", false), ("ws://[::2]", false),
    ("ws://127.0.0.1.example", false), ("ws://localhost.example", false), ("ws://0.0.0.0", false),
    ("wss://a.example", true),
  ])
  func `plaintext stays on this device unless it is allowed`(url: String, isAllowed: Bool) throws {
    let address = try Self.address(url)
    #expect(throws: Never.self) { try address.demandPrivacy(allowsPlaintext: true) }
    if isAllowed {
      #expect(throws: Never.self) { try address.demandPrivacy(allowsPlaintext: false) }
    } else {
      #expect(throws: LinkFailure.self) { try address.demandPrivacy(allowsPlaintext: false) }
    }
  }

  @Test func `the target of a random URL fits into a request line`() throws {
    var generator = RandomSource(seed: 5)
    let pieces = [
      "ws://", "wss://", "http://", "a", "example", ".", "127.0.0.1", "[::1]", "[", "]", ":", "80",
      "65536", "/", "//", "?", "#", "@", "%", "%41", "%00", " ", "\r\n", "\u{0}", "ä", "\u{202E}",
      "&",
      "\\", "|", "{", "\t",
    ]
    var parsed = 0
    for _ in 0..<50_000 {
      var url = Bool.random(using: &generator) ? "ws://" : ""
      for _ in 0..<Int.random(in: 0..<8, using: &generator) {
        url += pieces[Int.random(in: 0..<pieces.count, using: &generator)]
      }
      let address: WebAddress
      do { address = try Self.address(url, query: [("k", url)]) } catch { continue }
      parsed += 1
      let line = address.target + address.authority
      let isPlain = line.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
      #expect(isPlain && address.target.hasPrefix("/") && !address.host.isEmpty, "\(url)")
      #expect(URL(string: address.url) != nil, "\(url)")
    }
    #expect(parsed > 1_000)
  }

  private func failure(_ url: String) -> LinkFailure? {
    do throws(LinkFailure) {
      _ = try Self.address(url)
      return nil
    } catch {
      return error
    }
  }
}
