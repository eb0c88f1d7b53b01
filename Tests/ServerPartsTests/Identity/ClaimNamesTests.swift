import HoldfastCore
import HoldfastJSON
import Testing

@testable import HoldfastIdentity

/// Tests of the names of claims, and of finding them in a payload.
struct ClaimNamesTests {
  private typealias Place = ClaimNames.Place

  @Test func `what a text does not name has its usual name`() throws {
    #expect("\(ClaimNames())" == "user=sub,name=name,shops=shops")
    let names = try #require(ClaimNames("shops=realm_access.roles[shop-],admin=roles"))
    #expect(names.user == Place("sub") && names.name == Place("name"))
    #expect(names.shops == Place("realm_access.roles", prefix: "shop-"))
    #expect(names.admin == Place("roles"))
    #expect(ClaimNames("\(names)") == names)
  }

  @Test func `a path may be a URL, and a prefix may have any other characters`() throws {
    let names = try #require(ClaimNames("shops=https://a.example/shops,user=sub[auth0|]"))
    #expect(names.shops == Place("https://a.example/shops"))
    #expect(names.user == Place("sub", prefix: "auth0|"))
  }

  @Test(arguments: [
    "", "user", "user=", "=sub", "user=sub,", ",user=sub", "user=sub,user=id", "team=x",
    "user=sub[", "user=sub]", "user=[x]", "user=sub[]", "user=sub[a]b", "user=sub[a[b]]",
    "shops=" + String(repeating: "s", count: 1_019),
  ]) func `refuses other texts`(text: String) {
    #expect(ClaimNames(text) == nil)
  }

  @Test func `a text has at most 1024 bytes`() {
    #expect(ClaimNames("shops=" + String(repeating: "s", count: 1_018)) != nil)
  }

  @Test(
    arguments: [
      (Place("a"), #"{"a":["x","y"]}"#, ["x", "y"]),
      (Place("a"), #"{"a":"x  y"}"#, ["x", "y"]),
      (Place("a"), #"{"a":["x y",1,null,["z"],"z"]}"#, ["x y", "z"]),
      (Place("a"), #"{"a":1}"#, []), (Place("a"), #"{"a":null}"#, []), (Place("a"), "{}", []),
      (Place("a.b"), #"{"a":{"b":["x"]}}"#, ["x"]),
      (Place("a.b"), #"{"a.b":["x"]}"#, ["x"]),
      (Place("a.b"), #"{"a.b":["x"],"a":{"b":["y"]}}"#, ["x"]),
      (Place("a.b"), #"{"a":{"b":["y"]},"a.b":["x"]}"#, ["x"]),
      (Place("a.b.c"), #"{"a":{"b.c":["x"]}}"#, ["x"]),
      (Place("a.b.c"), #"{"a.b":{"c":["x"]}}"#, ["x"]),
      (Place("a.b"), #"{"a":"b"}"#, []), (Place("a.b"), #"{"a":["b"]}"#, []),
      (Place("a.b"), #"{"b":["x"],"a":{"c":["x"]}}"#, []),
      (Place("a", prefix: "s-"), #"{"a":["s-x","t-y","s-","S-z"]}"#, ["x", ""]),
      (Place("a", prefix: "s-"), #"{"a":["s-\u0301x"]}"#, ["\u{301}x"]),
      (Place("a", prefix: "s:"), #"{"a":"openid s:x s:y"}"#, ["x", "y"]),
    ] as [(ClaimNames.Place, String, [String])])
  func `finds the texts of a claim`(
    place: ClaimNames.Place, payload: String, texts: [String]
  ) throws {
    #expect(try place.texts(in: Array(payload.utf8)) == texts)
  }

  @Test(
    arguments: [
      (Place("a"), #"{"a":"Ann B"}"#, "Ann B"), (Place("a", prefix: "x|"), #"{"a":"x|1"}"#, "1"),
      (Place("a", prefix: "x|"), #"{"a":"y|1"}"#, nil), (Place("a"), #"{"a":["x"]}"#, nil),
      (Place("a"), "{}", nil),
    ] as [(ClaimNames.Place, String, String?)])
  func `finds the text of a claim`(
    place: ClaimNames.Place, payload: String, text: String?
  ) throws {
    #expect(try place.text(in: Array(payload.utf8)) == text)
  }

  @Test(arguments: ["", "[]", "{", #"{"a":1}x"#, #""a""#])
  func `a payload is a JSON object`(payload: String) {
    #expect(throws: JSONError.self) { try Place("a").texts(in: Array(payload.utf8)) }
  }
}
