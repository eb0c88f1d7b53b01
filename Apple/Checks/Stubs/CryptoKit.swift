// The parts of Apple's module CryptoKit that the checks use, from
// https://developer.apple.com/documentation/cryptokit
@available(iOS 13.0, macOS 10.15, watchOS 6.0, *)
public protocol Digest: Hashable, Sequence where Element == UInt8 {}
@available(iOS 13.0, macOS 10.15, watchOS 6.0, *)
public protocol HashFunction {
  associatedtype Digest: CryptoKit.Digest
  init()
  mutating func update(bufferPointer: UnsafeRawBufferPointer)
  func finalize() -> Digest
}
@available(iOS 13.0, macOS 10.15, watchOS 6.0, *)
public struct SHA256Digest: Digest {
  public func makeIterator() -> IndexingIterator<[UInt8]> { [UInt8]().makeIterator() }
}
@available(iOS 13.0, macOS 10.15, watchOS 6.0, *)
public struct SHA256: HashFunction {
  public typealias Digest = SHA256Digest
  public init() {}
  public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
  public func finalize() -> SHA256Digest { SHA256Digest() }
}
@available(iOS 13.0, macOS 10.15, watchOS 6.0, *)
public struct SymmetricKey: Sendable { public init(data: some Sequence<UInt8>) {} }
@available(iOS 13.0, macOS 10.15, watchOS 6.0, *)
public struct HMAC<H: HashFunction> {
  public typealias MAC = HashedAuthenticationCode<H>
  public static func authenticationCode(
    for data: some Sequence<UInt8>, using key: SymmetricKey
  ) -> MAC { MAC() }
}
@available(iOS 13.0, macOS 10.15, watchOS 6.0, *)
public struct HashedAuthenticationCode<H: HashFunction>: Sequence {
  public func makeIterator() -> IndexingIterator<[UInt8]> { [UInt8]().makeIterator() }
}
