import HoldfastJSON
import Testing

@Suite struct JSONFieldsTests {
  @Test func `array elements are returned without surrounding white space`() throws {
    let text = """
      {"a": [ 1 , "x",
       [ ] ,{"b" : 2} ] }
      """
    let fields = JSONFields(Array(text.utf8), keeping: ["a"])
    let elements = try fields.elements("a", atMost: 4)
    let texts = elements.map { String(decoding: $0, as: UTF8.self) }
    #expect(texts == ["1", #""x""#, "[ ]", #"{"b" : 2}"#])
  }
}
