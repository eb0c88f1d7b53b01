import Testing

@testable import HoldfastProtocols

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Tests with octets that are followed by unreadable memory, so that reading one octet too many
/// causes a crash.
@Suite struct MemoryEndTests {
  @Test func `UTF-8 validation reads a text to its end and no further`() {
    let page = Int(getpagesize())
    let pages = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * page, alignment: page)
    unsafe pages.initializeMemory(as: UInt8.self, repeating: 0x61)
    let wall = unsafe UnsafeMutableRawBufferPointer(rebasing: pages[page...]).baseAddress
    let stands = unsafe mprotect(wall, page, PROT_NONE) == 0
    var valid: [Bool] = []
    for count in 1...70 {
      let text = unsafe UnsafeRawBufferPointer(rebasing: pages[(page - count)..<page])
      let isValid = unsafe UTF8Validator.isValid(text)
      valid.append(isValid)
    }
    let falls = unsafe mprotect(wall, page, PROT_READ | PROT_WRITE) == 0
    unsafe pages.deallocate()
    #expect(stands && falls)
    #expect(valid == [Bool](repeating: true, count: 70))
  }
}
