// The ports of the features stand on the driver and its ports: whoever imports these gets those.
@_exported public import LinkDriver
