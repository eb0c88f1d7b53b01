import Testing

@testable import HoldfastServerParts

/// Tests of the reader of forms, of parameters of header fields and of ranges.
@Suite struct MultipartFormTests {
  private static let type = "multipart/form-data; boundary=xx"

  private static func read(
    _ text: String, _ type: String = type
  ) -> Result<[String], MultipartForm.Fault> {
    Result { () throws(MultipartForm.Fault) in
      try MultipartForm(Array(text.utf8), mediaType: type).fields.map {
        "\($0.name)=\(String(decoding: $0.content, as: UTF8.self))"
      }
    }
  }

  private static func part(_ name: String, _ content: String) -> String {
    "--xx\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(content)\r\n"
  }

  private static let forms: [(String, [String])] = [
    (part("a", "1") + part("b", "") + "--xx--", ["a=1", "b="]),
    ("preamble\r\n" + part("a", "1\r\n2") + "--xx--\r\nepilogue", ["a=1\r\n2"]),
    ("\r\n" + part("a", "\r\n") + "--xx--", ["a=\r\n"]),
    (part("a", " --xx") + "--xx--", ["a= --xx"]),
    (part("a", "\r\n-xx\r\n--x") + "--xx--", ["a=\r\n-xx\r\n--x"]), ("--xx--", []),
    (
      "--xx \t\r\ncontent-type: image/png\r\ncontent-disposition:form-data;NAME=f;filename="
        + "\"a\\\";name=\\\"b\"\r\n\r\nx\r\n--xx--", ["f=x"]
    ),
    ("--xx\r\nContent-Disposition: form-data; name=\"ä\"\r\n\r\nx\r\n--xx--", ["ä=x"]),
    // No empty line follows the header, since the delimiter's line break ends it.
    ("--xx\r\nContent-Disposition: form-data; name=a\r\n\r\n--xx--", ["a="]),
  ]

  @Test(arguments: forms) func `reads the fields of a form`(_ text: String, _ fields: [String]) {
    #expect(Self.read(text) == .success(fields))
  }

  private static let faults: [(String, MultipartForm.Fault)] = [
    ("", .incomplete), ("--xx", .incomplete), ("--xx\r\n", .badHeader), ("--x--", .incomplete),
    (part("a", "1"), .incomplete), (part("a", "1") + "--xx-", .incomplete),
    ("--xxx\r\n", .incomplete), (part("", "1") + "--xx--", .noName),
    ("--xx\r\nContent-Type: a/b\r\n\r\n1\r\n--xx--", .noName),
    ("--xx\r\nContent-Disposition: attachment; name=a\r\n\r\n1\r\n--xx--", .badHeader),
    ("--xx\r\nno field\r\n\r\n1\r\n--xx--", .badHeader),
    ("--xx\r\nA: b\r\n1\r\n--xx--", .badHeader),
  ]

  @Test(arguments: faults) func `refuses what is no form`(
    _ text: String, _ fault: MultipartForm.Fault
  ) {
    #expect(Self.read(text) == .failure(fault))
    #expect(!fault.detail.isEmpty)
  }

  @Test(arguments: [
    ("multipart/form-data", false), ("multipart/form-data; boundary=", false),
    ("multipart/form-data; boundary=\"x x\"", true), ("a/b; boundary=\"xx \"", false),
    ("a/b; boundary=\"x\u{e9}\"", false), ("a/b; boundary=\"x", false),
    ("a/b; boundary=" + String(repeating: "b", count: 70), true),
    ("a/b; boundary=" + String(repeating: "b", count: 71), false),
  ]) func `a form needs a boundary`(_ type: String, _ isValid: Bool) {
    #expect((Self.read("", type) == .failure(.incomplete)) == isValid)
    #expect((Self.read("", type) == .failure(.noBoundary)) != isValid)
  }

  @Test(arguments: [15, 16, 17]) func `the number of fields is bounded`(_ count: Int) {
    let text = (0..<count).map { Self.part("f\($0)", "") }.joined() + "--xx--"
    let result = Self.read(text)
    #expect((result == .failure(.tooMany)) == (count > MultipartForm.mostFields))
  }

  @Test(arguments: [4_095, 4_096, 4_097]) func `the header of a field is bounded`(_ count: Int) {
    let (start, end) = ("\r\nContent-Disposition: form-data; name=a\r\nA: ", "\r\n\r\n")
    let padding = String(repeating: "p", count: count - start.utf8.count - end.utf8.count)
    let text = "--xx\(start)\(padding)\(end)1\r\n--xx--"
    #expect(Self.read(text) == (count <= 4_096 ? .success(["a=1"]) : .failure(.badHeader)))
  }

  @Test(arguments: [
    ("multipart/form-data; boundary=x", true), ("Multipart/Form-Data", true),
    ("multipart/mixed", false), ("image/png", false), ("", false),
  ]) func `a form is known by its media type`(_ type: String, _ isForm: Bool) {
    #expect(MultipartForm.isForm(type) == isForm)
  }

  @Test func `parameters are read up to the first that is malformed`() {
    let found = HeaderParameters("x; a=1 ;;B=\"2;\\\"3\";a=4; c ; d=5")
    #expect(found["a"] == "1")
    #expect(found["b"] == "2;\"3")
    #expect(found["c"] == nil)
    #expect(found["d"] == nil)
    #expect(HeaderParameters("x")["x"] == nil)
    #expect(HeaderParameters("x; a=\"1")["a"] == nil)
    #expect(HeaderParameters("x; a=\"1\\")["a"] == nil)
  }

  private static let ranges: [(String?, Int, ByteRange)] = [
    (nil, 10, .whole), ("bytes=0-0", 10, .part(0..<1)), ("bytes=2-", 10, .part(2..<10)),
    ("bytes=-3", 10, .part(7..<10)), ("bytes=-10", 10, .part(0..<10)),
    ("bytes=-11", 10, .part(0..<10)), ("bytes=9-99", 10, .part(9..<10)),
    ("BYTES= 1 - 2 ", 10, .part(1..<3)), ("bytes=10-", 10, .unsatisfiable),
    ("bytes=10-11", 10, .unsatisfiable), ("bytes=-0", 10, .unsatisfiable),
    ("bytes=-1", 0, .unsatisfiable), ("bytes=0-", 0, .unsatisfiable), ("bytes=2-1", 10, .whole),
    ("bytes=", 10, .whole), ("bytes=-", 10, .whole), ("bytes=1", 10, .whole),
    ("bytes=0-1,3-4", 10, .whole), ("items=0-1", 10, .whole), ("bytes=a-2", 10, .whole),
    ("bytes=0--1", 10, .whole), ("bytes=0-999999999999999", 10, .part(0..<10)),
    ("bytes=0-9999999999999999", 10, .whole),
  ]

  @Test(arguments: ranges)
  func `a range selects a part`(_ field: String?, _ size: Int, _ range: ByteRange) {
    #expect(ByteRange(field, of: size) == range)
  }
}
