# Opens 127.0.0.1:PORT inside a sandbox, carries every connection to the unix socket of the proxy,
# and becomes the command. In Perl for the reason of app/sandbox/probe.pl.
use strict;
use warnings;
use Socket;
use POSIX ':sys_wait_h';

# Each takes two processes here, and the proxy cuts what is above its own limit; whoever opens more,
# as npm does with a proxy for each package, waits its turn in the kernel's queue.
my $most = 100;

my ($port, $path, @command) = @ARGV;

socket(my $listener, AF_INET, SOCK_STREAM, 0) or die "bridge: socket: $!\n";
setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, 1);
bind($listener, sockaddr_in($port, INADDR_LOOPBACK)) or die "bridge: port $port: $!\n";
listen($listener, 4096) or die "bridge: listen: $!\n";

my $command = $$;
my $bridge = fork() // die "bridge: fork: $!\n";
if ($bridge) {
    close $listener;
    exec { $command[0] } @command or print STDERR "$command[0]: $!\n";
    exit 127;
}

# The command's output ends when the command does, and the bridge as well.
open(STDIN, '<', '/dev/null');
open(STDOUT, '>', '/dev/null');
open(STDERR, '>', '/dev/null');
setpgrp(0, 0);
$SIG{PIPE} = 'IGNORE';

sub carry {
    my ($from, $to) = @_;
    while (sysread($from, my $data, 65536)) {
        my $sent = 0;
        while ($sent < length $data) {
            my $count = syswrite($to, $data, length($data) - $sent, $sent) or return;
            $sent += $count;
        }
    }
}

my $open = 0;
while (getppid() == $command) {
    while (waitpid(-1, WNOHANG) > 0) { $open-- }
    if ($open >= $most) { select(undef, undef, undef, 0.01); next }
    my $ready = '';
    vec($ready, fileno($listener), 1) = 1;
    next unless select($ready, undef, undef, 0.5);
    accept(my $inside, $listener) or next;
    my $serving = fork();
    if (!defined $serving or $serving) {
        $open++ if defined $serving;
        close $inside;
        next;
    }

    close $listener;
    socket(my $outside, AF_UNIX, SOCK_STREAM, 0) or exit;
    connect($outside, sockaddr_un($path)) or exit;
    my $sending = fork() // exit;
    my ($from, $to) = $sending ? ($outside, $inside) : ($inside, $outside);
    carry($from, $to);
    shutdown($to, 1);
    if ($sending) { kill 'KILL', $sending }
    exit;
}
