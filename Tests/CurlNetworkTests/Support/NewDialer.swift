import HoldfastCurlNetwork
import HoldfastPorts

/// Returns a dialer over libcurl, for tests that hold for every dialer.
func newDialer(
  maxQueuedBytes: Int = 1_048_576, offersDeflate: Bool = true
) throws -> any SocketDialer {
  try CurlNetwork(
    CurlConfiguration(
      proxy: "", maxQueuedBytes: maxQueuedBytes, offersDeflate: offersDeflate))
}
